package headgate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type watched struct {
	t     *testing.T
	path  string
	now   time.Time
	files *watchedFiles
}

func newWatched(t *testing.T, text string) *watched {
	w := &watched{t: t, path: filepath.Join(t.TempDir(), "file"), now: epoch}
	w.write(text, epoch.Add(-time.Hour))
	files, err := watch([]string{w.path, ""}, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	w.files = files
	return w
}

func (w *watched) write(text string, changed time.Time) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chtimes(w.path, changed, changed); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) wantNews(after time.Duration, want string) {
	w.t.Helper()
	w.now = w.now.Add(after)
	got := ""
	if news := w.files.news(); news != nil {
		got = string(news[0])
	}
	if got != want {
		w.t.Errorf("%v later the news is %q, want %q", after, got, want)
	}
}

func TestWatchedFilesTellNewContentOnceAndAtOnceWhereItWasLeftAlone(t *testing.T) {
	w := newWatched(t, "old")
	w.wantNews(time.Minute, "")
	w.write("new", w.now)
	w.wantNews(time.Second, "new")
	w.wantNews(time.Second, "")
}

func TestWatchedFilesAreLookedAtOnceASecond(t *testing.T) {
	w := newWatched(t, "old")
	w.write("new", w.now.Add(-time.Minute))
	w.wantNews(999*time.Millisecond, "")
	w.wantNews(time.Millisecond, "new")
}

func TestWatchedFilesTakeWhatIsJustWrittenAfterASecondLook(t *testing.T) {
	w := newWatched(t, "old")
	w.write("half of", w.now.Add(time.Second))
	w.wantNews(time.Second, "")
	w.write("half of it", w.now.Add(time.Second))
	w.wantNews(time.Second, "")
	w.wantNews(time.Second, "half of it")
}

func TestWatchedFilesSayNothingWhileOneCannotBeRead(t *testing.T) {
	w := newWatched(t, "old")
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.wantNews(time.Minute, "")
	w.write("old", w.now)
	w.wantNews(time.Minute, "")
	w.write("new", w.now)
	w.wantNews(time.Minute, "new")
}

func TestWatchNamesTheFileThatCannotBeRead(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "missing"), t.TempDir()} {
		if _, err := watch([]string{path}, time.Now); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("of %s it says: %v", path, err)
		}
	}
}

func TestWatchRefusesAFileThatIsFarTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := watch([]string{path}, time.Now); err == nil {
		t.Error("it was taken")
	}
}

func TestTokenIsOneWord(t *testing.T) {
	for text, want := range map[string]string{
		"abc\n": "abc", " abc\r\n": "abc", "a b": "", "": "", "\n": "", "a\x00b": "", "ä": "",
		strings.Repeat("x", maxTokenBytes):   strings.Repeat("x", maxTokenBytes),
		strings.Repeat("x", maxTokenBytes+1): "",
	} {
		if got := tokenIn([]byte(text)); got != want {
			t.Errorf("%q has the token %q", text, got)
		}
	}
}
