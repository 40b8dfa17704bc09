package finding

import "testing"

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"no address, a@b":                          "no address, a@b",
		"https://example.org/x@y":                  "https://example.org/x@y",
		"source https://user:secret@example.org/x": "source https://***@example.org/x",
		"ssh://git@example.org, oci://t0ken@r.io":  "ssh://***@example.org, oci://***@r.io",
		`"postgres://app:pw@db.svc:5432/x"`:        `"postgres://***@db.svc:5432/x"`,
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
