package headgate

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	betweenLooks = time.Second
	maxFileBytes = 1 << 20
)

// watchedFiles is what is in some files, looked at again every second at most, when somebody asks.
//
// New content counts at once where the files were left alone for a second before; else once two
// looks in a row have seen the same. So a file which is just being written is not taken for what it
// looks like in between. No goroutine, no waiting. For one goroutine at a time.
type watchedFiles struct {
	paths    []string // an empty path has an empty text
	now      func() time.Time
	lookedAt time.Time
	told     [][]byte
	seen     [][]byte // at the last look, but not settled then
}

// watch reads the files at once. An error names the one that cannot be read.
func watch(paths []string, now func() time.Time) (*watchedFiles, error) {
	w := &watchedFiles{paths: paths, now: now, lookedAt: now()}
	texts, _, err := w.read()
	w.told = texts
	return w, err
}

// news is what is in the files, if it differs from what was told last; nil, if not, or while one of
// them cannot be read.
func (w *watchedFiles) news() [][]byte {
	now := w.now()
	if now.Sub(w.lookedAt) < betweenLooks {
		return nil
	}
	w.lookedAt = now
	texts, changedAt, err := w.read()
	if err != nil || equal(texts, w.told) {
		w.seen = nil
		return nil
	}
	// A file server's clock that is ahead only costs a second look.
	settled := !changedAt.After(now.Add(-betweenLooks)) || equal(texts, w.seen)
	w.seen = texts
	if !settled {
		return nil
	}
	w.told = texts
	return texts
}

// read also tells when one of the files was changed last.
func (w *watchedFiles) read() (texts [][]byte, changedAt time.Time, err error) {
	for _, path := range w.paths {
		text, changed, err := readFile(path)
		if err != nil {
			return nil, changedAt, invalid("%v", err)
		}
		texts = append(texts, text)
		if changed.After(changedAt) {
			changedAt = changed
		}
	}
	return texts, changedAt, nil
}

func readFile(path string) (text []byte, changed time.Time, err error) {
	if path == "" {
		return nil, changed, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, changed, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, changed, err
	}
	text, err = io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if len(text) > maxFileBytes {
		err = fmt.Errorf("%s: has more than %d bytes", path, maxFileBytes)
	}
	return text, info.ModTime(), err
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
