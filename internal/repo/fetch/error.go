package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// RefusedError reports an address that is never asked, or not without the user's
// permission. Nothing was sent to it.
type RefusedError struct {
	Address string // without credentials
	Reason  string
	Fix     string // what to do instead
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is refused: %s; %s", e.Address, e.Reason, e.Fix)
}

// OfflineError reports an address that was not asked because of --offline.
type OfflineError struct {
	Address string // without credentials
}

// Error implements error.
func (e *OfflineError) Error() string {
	return e.Address + " is not fetched: " + finding.OfflineForbids
}

// LimitError reports content that exceeds a limit. What was read of it is dropped.
type LimitError struct {
	Address string // without credentials
	Limit   string // "64 MiB", "200000 files"
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s exceeds the limit of %s", e.Address, e.Limit)
}

// DamagedError reports an archive that is none, or not whole.
type DamagedError struct {
	Address string // without credentials
	Err     error
}

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: the archive is damaged or incomplete: %v", e.Address, e.Err)
}

// Unwrap returns why it cannot be unpacked.
func (e *DamagedError) Unwrap() error { return e.Err }

// TimeoutError reports a download that took too long.
type TimeoutError struct{ After time.Duration }

// Error implements error.
func (e *TimeoutError) Error() string { return fmt.Sprintf("it is not complete after %s", e.After) }

// StatusError reports an HTTP answer other than 200.
type StatusError struct {
	Address string // without credentials
	Code    int
	Status  string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: the server answers %s", e.Address, e.Status)
}

// ErrNotFile is the error of File where an address answers with a page for people.
// It and a *StatusError are how the address of a Git repository answers.
var ErrNotFile = errors.New("the answer is a page of HTML and not a file")

// failure names the address of an error that does not name it itself. The error of
// net/http holds the whole address with its query, so only its cause is kept.
func failure(ctx context.Context, shown string, err error) error {
	var refused *RefusedError
	var offline *OfflineError
	var limit *LimitError
	var status *StatusError
	var damaged *DamagedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &offline):
		return offline
	case errors.As(err, &limit):
		return limit
	case errors.As(err, &status):
		return status
	case errors.As(err, &damaged):
		return damaged
	}
	for {
		var of *url.Error
		if !errors.As(err, &of) {
			break
		}
		err = of.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &fetchError{shown, err}
}

// fetchError is any other error, with the address it is about.
type fetchError struct {
	shown string
	err   error
}

// Error implements error. Servers choose part of the text.
func (e *fetchError) Error() string {
	return fmt.Sprintf("fetch %s: %s", e.shown, plain(finding.Redact(e.err.Error())))
}

// Unwrap returns the cause.
func (e *fetchError) Unwrap() error { return e.err }

// show returns an address as it may be printed: without credentials, on one line.
func show(text string) string {
	if !strings.Contains(text, "://") {
		// Without a scheme a password can only stand before the last "@".
		host, rest, found := strings.Cut(text, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 && strings.Contains(host[:at], ":") {
			host = host[at+1:]
		}
		if text = host; found {
			text += "/" + rest
		}
		text, _, _ = strings.Cut(text, "?")
	}
	return plain(finding.WithoutCredentials(text))
}

// maxShown bounds how much of a text of others a message repeats.
const maxShown = 300

// plain makes a text fit for one line of a terminal.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "..."
	}
	return text
}
