#include "objects/directory/directory.h"
#include "objects/directory/quick_directory_test.h"
#include "tests/contract/objects_contract.h"

namespace hearth::objects {

INSTANTIATE_TEST_SUITE_P(Directory, ObjectsContract,
                         ::testing::Values(ObjectsFactory{
                             .name = "directory",
                             .fresh = [] { return quick_directory().release(); },
                             .open = [](const std::string& id) -> Result<std::unique_ptr<Objects>> {
                               return std::unique_ptr<Objects>(TRY(DirectoryObjects::open(id)));
                             },
                             .destroy =
                                 [](const std::string& id) { ignore(os::remove_tree(id)); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace hearth::objects
