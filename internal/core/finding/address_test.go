package finding_test

import (
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

func TestWithoutCredentials(t *testing.T) {
	for given, want := range map[string]string{
		"https://git.example.com/a.git":           "https://git.example.com/a.git",
		"https://bot:token@git.example.com/a.git": "https://git.example.com/a.git",
		"https://token@git.example.com:8443/a":    "https://git.example.com:8443/a",
		"https://git.example.com/a?token=x":       "https://git.example.com/a",
		"https://git.example.com:8443/a@b":        "https://git.example.com:8443/a@b",
		"https://bot:to/ken@git.example.com/a@b":  "https://git.example.com/a@b",
		"https://bot:to@k/en@git.example.com/a":   "https://git.example.com/a",
		"https://bot:token@git/a":                 "https://git/a",
		"https://git/a@b":                         "https://git/a@b",
		"https://bot:t?k#n@git.example.com/a":     "https://git.example.com/a",
		"https://:token/@git.example.com":         "https://git.example.com",
		"https://[::1]:8443/a@b":                  "https://[::1]:8443/a@b",
		"https://[::1]/a@b":                       "https://[::1]/a@b",
		"https://git.example.com:{{.port}}/a@b":   "https://git.example.com:{{.port}}/a@b",
		"ssh://git@git.example.com:22/a.git":      "ssh://git@git.example.com:22/a.git",
		"ssh://git:token@git.example.com/a.git":   "ssh://git@git.example.com/a.git",
		"ssh://@:token/@git.example.com/a.git":    "ssh://git.example.com/a.git",
		"git@git.example.com:a/b.git":             "git@git.example.com:a/b.git",
		"registry.example.com/charts":             "registry.example.com/charts",
		"oci://bot:token@registry.example.com/x":  "oci://registry.example.com/x",
		"file:///srv/git/a@b.git":                 "file:///srv/git/a@b.git",
		"":                                        "",
	} {
		if got := finding.WithoutCredentials(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for given, want := range map[string]string{
		"cannot fetch https://bot:token@git.example.com/a: no":          "cannot fetch https://***@git.example.com/a: no",
		`Get "https://bot:to/ken@git.example.com/a": EOF`:               `Get "https://***@git.example.com/a": EOF`,
		"https://x.example.com,https://bot:token@y.example.com":         "https://x.example.com,https://***@y.example.com",
		"https://x.example.com/a and mail@example.com":                  "https://x.example.com/a and mail@example.com",
		"postgres://app:secret@db:5432/shop?sslmode=disable":            "postgres://***@db:5432/shop?sslmode=disable",
		"git clone ssh://git@git.example.com/a (user: git@example.com)": "git clone ssh://***@git.example.com/a (user: git@example.com)",
		"no address, a@b":                          "no address, a@b",
		"https://example.org/x@y":                  "https://example.org/x@y",
		"source https://user:secret@example.org/x": "source https://***@example.org/x",
		"ssh://git@example.org, oci://t0ken@r.io":  "ssh://***@example.org, oci://***@r.io",
		`"postgres://app:pw@db.svc:5432/x"`:        `"postgres://***@db.svc:5432/x"`,
		"no address":                               "no address",
		"https://":                                 "https://",
		"a://b://c:d@e f":                          "a://b://***@e f",
		"https://bot:token:/@example.org/x":        "https://***@example.org/x",
		"https://example.org,https:/bot:token@b/x": "https://***@b/x",
		"https://example.org/a https:/bot:t@b/x":   "https://example.org/a https:/***@b/x",
	} {
		if got := finding.Redact(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// FuzzCredentials: whatever an address holds before its host is not shown.
func FuzzCredentials(f *testing.F) {
	const canary = "h4nter2c4n4ry"
	f.Add("bot", "", "git.example.com/a.git")
	f.Add("", "/x", "git.example.com:8443/a@b?c")
	f.Add("a", "x@y", "git.example.com")
	f.Add("@", "/", "0")
	f.Add("0", ":/", "0")
	f.Fuzz(func(t *testing.T, user, password, rest string) {
		if strings.Contains(user, "://") || strings.ContainsAny(user, "/?#") || strings.Contains(rest, canary) {
			return // not the user of an address
		}
		for _, scheme := range []string{"https", "ssh", "oci"} {
			given := scheme + "://" + user + ":" + canary + password + "@" + rest
			if got := finding.WithoutCredentials(given); strings.Contains(got, canary) {
				t.Errorf("%q: the password is in %q", given, got)
			}
			if strings.ContainsAny(user+password, " \t\n\v\f\r\"'`<>\u0085\u00a0") || strings.Contains(password, "://") {
				continue // in a text it ends there
			}
			if got := finding.Redact("x " + given); strings.Contains(got, canary) {
				t.Errorf("%q: the password is in %q", given, got)
			}
		}
	})
}
