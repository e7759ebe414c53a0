# How shell tests read the documentation: the pages in DOCS, as records that `read_docs` puts into $WORK/records.
# shellcheck shell=bash

DOCS=()

all_docs() { mapfile -t DOCS < <(find . -path ./build -prune -o -name '*.md' -printf '%P\n' | sort); }

# Markdown as records of file, line, kind (text or code), info string, content, by tabs. A text is a
# paragraph, a list's item or a table; a code is one line, with those that a backslash continues.
records() {
  awk '
    function out(kind, info, content) {
      gsub(/\t/, " ", content)
      printf "%s\t%d\t%s\t%s\t%s\n", file, line, kind, info, content
    }
    function flush() { if (text != "") out("text", "", text); text = "" }
    function code(info) {
      if (!continued) { joined = ""; line = FNR }
      continued = sub(/\\$/, "")
      joined = joined $0
      if (!continued) out("code", info, joined)
    }
    FNR == 1 { flush(); file = FILENAME; fenced = indented = continued = 0; blank = 1 }
    /^ *```/ {
      flush()
      if (fenced) fenced = 0
      else { fenced = 1; info = $0; sub(/^ *```/, "", info) }
      continued = 0; blank = 0; next
    }
    fenced { code(info == "" ? "none" : info); next }
    /^ *$/ { flush(); blank = 1; next }
    /^    / && (blank || indented) { indented = 1; blank = 0; code("indented"); next }
    { indented = blank = 0 }
    /^(#|[-*|] |\||[0-9]+\. )/ { flush() }
    { if (text == "") line = FNR; text = text (text == "" ? "" : " ") $0 }
    END { flush() }' "${DOCS[@]}"
}

read_docs() { records >"$WORK/records"; }

# What stands between backticks in texts: file, line, span.
spans() {
  awk -F '\t' -v OFS='\t' '$3 == "text" {
    count = split($5, parts, "`")
    for (i = 2; i <= count; i += 2) print $1, $2, parts[i]
  }' "$WORK/records"
}

# Commands in code, as they would be typed: file, line, command.
code_commands() {
  awk -F '\t' -v OFS='\t' '
    $3 == "code" && $4 ~ /^(sh|bash|console|shell|none|indented)$/ {
      sub(/^ *\$ /, "", $5); sub(/^ +/, "", $5); print $1, $2, $5
    }' "$WORK/records"
}

# Those, and what stands between backticks.
commands() { spans && code_commands; }
