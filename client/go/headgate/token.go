package headgate

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// All headers of a call together may have 8 kB.
const maxTokenBytes = 4096

// token is the bearer token that goes along with each call, from a file that may change. It is
// gRPC's credentials.PerRPCCredentials.
type token struct {
	mu    sync.Mutex // guards what follows
	files *watchedFiles
	text  string // what the file has now, or had last
}

func loadToken(file string, now func() time.Time) (*token, error) {
	files, err := watch([]string{file}, now)
	if err != nil {
		return nil, err
	}
	text := tokenIn(files.told[0])
	if text == "" {
		return nil, invalid("%s: holds no token: one word of at most %d characters of ASCII", file, maxTokenBytes)
	}
	return &token{files: files, text: text}, nil
}

// GetRequestMetadata is asked by gRPC at each call.
func (t *token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if news := t.files.news(); news != nil {
		if text := tokenIn(news[0]); text != "" {
			t.text = text
		}
	}
	return map[string]string{"authorization": "Bearer " + t.text}, nil
}

// RequireTransportSecurity is true: a token is sent over TLS only.
func (t *token) RequireTransportSecurity() bool { return true }

// tokenIn is the token without the line break at its end; empty where that is none.
func tokenIn(text []byte) string {
	text = bytes.Trim(text, " \t\r\n\v\f")
	if len(text) > maxTokenBytes {
		return ""
	}
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return string(text)
}
