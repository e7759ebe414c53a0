# The version of the project. CMakeLists.txt alone keeps it; the programs, the image and the chart take it
# from there.
# shellcheck shell=bash

project_version() { sed -n 's/^project(headgate VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt; }

# tree_changes: what git would say is not committed; nothing where all is.
tree_changes() { git status --porcelain --untracked-files=normal; }

# project_date: when the commit was made that is checked out, or now outside of git.
project_date() { date --utc --date="@$(project_epoch)" +%Y-%m-%dT%H:%M:%SZ; }
project_epoch() { git log -1 --format=%ct 2>/dev/null || date +%s; }

# The commit that is checked out, "-dirty" where files differ from it, or nothing outside of git.
project_revision() {
  local revision
  revision=$(git rev-parse --verify HEAD 2>/dev/null) || return 0
  [[ -z $(tree_changes) ]] || revision+=-dirty
  echo "$revision"
}
