#include "control/templates.h"

#include <fstream>

#include "control/small_world_test.h"
#include "os/archive.h"

namespace hearth::control {
namespace {

TEST(Templates, TheirCodeIsWhatJobSubmitWouldSend) {
  SmallWorld world;
  const auto all = put_templates(world.context(), world.folder.path());
  ASSERT_EQ(all.size(), 3u);
  for (const JobTemplate& one : all) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(one.code_digest.empty(), one.name == "command");
    if (one.code_digest.empty()) continue;
    // As `job new DIR` writes it.
    const std::string folder = world.folder.file(one.name), packed = folder + ".tar.zst";
    for (const TemplateFolder& known : job_templates()) {
      if (known.about.name != one.name) continue;
      std::filesystem::create_directories(folder);
      for (const TemplateFile& file : known.files)
        std::ofstream(format("{}/{}", folder, file.name)) << file.bytes;
    }
    EXPECT_EQ(need(os::bundle_directory(folder, packed)).digest, one.code_digest);
    EXPECT_TRUE(need(world.objects->have(one.code_digest)).has_value());
    EXPECT_EQ(world.count(format("SELECT COUNT(*) FROM pins WHERE digest = '{}' AND holder = "
                                 "'template:{}'",
                                 one.code_digest, one.name)),
              1);
  }
  EXPECT_EQ(put_templates(world.context(), world.folder.path()), all) << "a second start";
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder LIKE 'template:%'"), 2);
}

TEST(Templates, OfAnEarlierProgramAreLetGo) {
  SmallWorld world;
  const std::string old = need(world.objects->put("old code")).digest;
  world.write([&](db::Session& session) {
    return db::pin(session, old, "template:tabular", world.clock.now());
  });
  put_templates(world.context(), world.folder.path());
  EXPECT_EQ(world.count(format("SELECT COUNT(*) FROM pins WHERE digest = '{}'", old)), 0);
}

}  // namespace
}  // namespace hearth::control
