# Writes ${OUT}: the bytes of ${FILES} (below ${DIRECTORY}), taken in by the assembler; see
# HearthEmbed.cmake.
set(text "#include \"${ROOM}/embedded.h\"\n\nextern \"C\" {\n")
set(bytes "")
set(table "")
set(i 0)
foreach(file ${FILES})
  file(SIZE ${DIRECTORY}/${file} size)
  set(symbol "hearth_${ROOM}_${NAME}_${i}")
  string(APPEND text "extern const char ${symbol}[];\n")
  string(APPEND bytes "asm(\".section .rodata\\n.hidden ${symbol}\\n.global ${symbol}\\n\"\n"
         "    \"${symbol}: .incbin \\\"${DIRECTORY}/${file}\\\"\\n.byte 0\\n.previous\\n\");\n")
  string(APPEND table "    {\"${file}\", {${symbol}, ${size}}},\n")
  math(EXPR i "${i} + 1")
endforeach()
string(APPEND text "}\n${bytes}\nnamespace hearth::${ROOM} {\nnamespace {\n"
       "const EmbeddedFile kFiles[] = {\n${table}};\n}  // namespace\n\n"
       "std::span<const EmbeddedFile> ${NAME}() { return kFiles; }\n\n}  // namespace hearth::${ROOM}\n")
file(WRITE ${OUT} "${text}")
