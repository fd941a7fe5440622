# marpc_generate(TARGET <target> PROTOS <file>... [IMPORT_DIRS <dir>...])
# placeholder until protoc-gen-marpc exists
