# The version of the project. CMakeLists.txt alone keeps it; the programs, the image and the chart take it
# from there.
# shellcheck shell=bash

project_version() { sed -n 's/^project(headgate VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt; }

# tree_changes: what git would say is not committed; nothing where all is.
tree_changes() { git status --porcelain --untracked-files=normal; }

# The commit that is checked out, "-dirty" where files differ from it, or nothing outside of git.
project_revision() {
  local revision
  revision=$(git rev-parse --verify HEAD 2>/dev/null) || return 0
  [[ -z $(tree_changes) ]] || revision+=-dirty
  echo "$revision"
}
