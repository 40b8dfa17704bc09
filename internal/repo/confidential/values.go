package confidential

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Values are those that a text must not show. The zero value holds none.
type Values struct {
	texts map[string]bool
}

// least is the shortest value that is kept back, in bytes: a shorter one tells
// nothing and would take ordinary words apart.
const least = 4

// Add takes in what may be secret in decoded YAML or JSON.
func (v *Values) Add(value any) { v.add(value, nil, false) }

// add walks a value. secret is set in the whole of a Secret.
func (v *Values) add(value any, keys []string, secret bool) {
	switch value := value.(type) {
	case map[string]any:
		if value["kind"] == "Secret" && value["apiVersion"] == "v1" {
			keys, secret = nil, true
		}
		name, _ := value["name"].(string)
		for key, inner := range value {
			at := append(slices.Clone(keys), key)
			if name != "" && key == "value" {
				at = append(slices.Clone(keys), name) // an item that is named for what it holds
			}
			v.add(inner, at, secret)
		}
	case []any:
		for _, inner := range value {
			v.add(inner, keys, secret)
		}
	case string:
		if named(keys, secret) {
			v.keep(value)
		}
		if len(keys) > 0 && slices.Contains(harmless, keys[len(keys)-1]) {
			return // a name is told whatever it looks like
		}
		if strings.Contains(value, "\n") {
			v.AddText([]byte(value))
		} else {
			v.lines(value)
		}
	case nil, bool:
	default:
		if named(keys, secret) {
			v.keep(fmt.Sprint(value))
		}
	}
}

// generated are the fields of a kustomization whose literals are those of Secrets.
const generated = "secretGenerator"

// Join takes in what another one holds.
func (v *Values) Join(other *Values) {
	for text := range other.texts {
		v.keep(text)
	}
}

// named reports whether the value at these keys is secret by its name or place.
func named(keys []string, secret bool) bool {
	if i := slices.Index(keys, generated); i >= 0 {
		return slices.Contains(keys[i:], "literals")
	}
	if secret && len(keys) > 0 && !slices.Contains(manifest.PublicFields, keys[0]) {
		return true
	}
	return Named(keys, secret)
}

// AddText takes in what may be secret in a file of any format, whole or broken.
func (v *Values) AddText(text []byte) {
	for _, document := range manifest.Split(text) {
		value, err := document.Decode()
		switch value := value.(type) {
		case map[string]any, []any:
			if err == nil {
				v.Add(value)
				continue
			}
		}
		v.lines(string(document.Text))
	}
}

// most is how many values are told apart. What holds more is told nothing of.
const most = 100_000

// keep keeps a value back, and its lines.
func (v *Values) keep(text string) {
	if v.texts == nil {
		v.texts = map[string]bool{}
	}
	if len(v.texts) > most {
		return
	}
	text = strings.TrimSpace(text)
	v.texts[text] = true
	for _, line := range strings.Split(text, "\n") {
		v.texts[strings.TrimSpace(line)] = true
	}
	if _, literal, ok := strings.Cut(text, "="); ok {
		v.texts[strings.TrimSpace(literal)] = true
	}
}

// Redact takes the values out of a text.
func (v *Values) Redact(text string) string {
	if len(v.texts) > most {
		return manifest.Redacted
	}
	found := map[string]bool{}
	for value := range v.texts {
		if len(value) < least || value == "true" || value == "false" || value == "null" {
			continue
		}
		for _, form := range forms(value) {
			if len(form) >= least && strings.Contains(text, form) {
				found[form] = true
			}
		}
	}
	all := make([]string, 0, len(found))
	for form := range found {
		all = append(all, form)
	}
	// A value may be part of another one.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	for _, form := range all {
		text = replace(text, form)
	}
	return text
}

// forms lists how a value may turn up in a message.
func forms(value string) []string {
	raw := []byte(value)
	text, _ := json.Marshal(value) // a string always has a form
	quoted := strconv.Quote(value)
	out := []string{
		value, strings.Join(strings.Fields(value), " "), quoted[1 : len(quoted)-1], string(text[1 : len(text)-1]), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw), hex.EncodeToString(raw),
	}
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil && strings.IndexFunc(string(plain), unicode.IsControl) < 0 {
		out = append(out, string(plain))
	}
	return out
}

// replace replaces a value. One that looks like an ordinary word is replaced where
// it stands by itself only.
func replace(text, value string) string {
	whole := plain(value)
	var b strings.Builder
	for {
		i := strings.Index(text, value)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(value)
		b.WriteString(text[:i])
		if whole && (inWord(text[:i], true) || inWord(text[end:], false)) {
			b.WriteString(value)
		} else {
			b.WriteString(manifest.Redacted)
		}
		text = text[end:]
	}
}

// inWord reports whether a text ends, or begins, with a letter or a digit.
func inWord(text string, end bool) bool {
	if text == "" {
		return false
	}
	c := rune(text[0])
	if end {
		c = rune(text[len(text)-1])
	}
	return c >= 0x80 || unicode.IsLetter(c) || unicode.IsDigit(c)
}
