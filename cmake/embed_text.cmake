# cmake -DOUT=FILE -DNAME=kName -DROOT=FOLDER -DFILES=a,b,.. -P embed_text.cmake: writes a source file that defines the
# wick::TextFile array NAME, the files' paths below ROOT and contents, and their number NAMECount.
string(REPLACE "," ";" files "${FILES}")
set(rows "")
foreach(file ${files})
  file(READ "${ROOT}/${file}" text)
  string(APPEND rows "    {\"${file}\", R\"wick_text(${text})wick_text\"},\n")
endforeach()
file(WRITE "${OUT}" "// Written by cmake/embed_text.cmake.\n#include \"common/text_file.h\"\n\nnamespace wick {\nextern const TextFile ${NAME}[];\nextern const size_t ${NAME}Count;\nconst TextFile ${NAME}[] = {\n${rows}};\nconst size_t ${NAME}Count = sizeof ${NAME} / sizeof ${NAME}[0];\n}  // namespace wick\n")
