"""The version of a database's tables, changed as a later program would have."""
import sqlite3
import struct

kPage = 4096
kBody = kPage - 8  # then the page's number and a checksum (src/db/sqlite/pages.h)
kTable = []
for index in range(256):
    for _ in range(8):
        index = index >> 1 ^ (0x82F63B78 if index & 1 else 0)
    kTable.append(index)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ kTable[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def stamp_pages(path):
    with open(path, "r+b") as file:
        for number, page in enumerate(iter(lambda: file.read(kPage), b""), 1):
            body = page[:kBody] + struct.pack("<I", number)
            file.seek((number - 1) * kPage)
            file.write(body + struct.pack("<I", crc32c(body)))
            file.seek(number * kPage)


def raise_schema(path, version):
    """Of a server that does not run. The version that it had."""
    with sqlite3.connect(path) as database:
        (before,) = database.execute("SELECT max(version) FROM hearth_schema").fetchone()
        database.execute("DELETE FROM hearth_schema WHERE version > ?", (version,))
        database.execute("INSERT OR IGNORE INTO hearth_schema VALUES (?, 'of later', 0)",
                         (version,))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    stamp_pages(path)
    return before
