package bootstrap

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// maxSecret bounds one value, in bytes: a Secret holds no more than 1 MiB.
const maxSecret = 1 << 20

// values reads secret values once and knows afterwards what must not be shown.
type values struct {
	// folder is that of the configuration, from which the files of values are found.
	folder string
	lookup func(string) (string, bool)
	// env is the file that has what the environment lacks.
	env envFile
	// secret are the texts that came from environment variables and files.
	secret []string
	// warnings are about values that may not be what somebody meant.
	warnings []string
	// variables are the environment variables that hold values.
	variables []string
}

// get reads a value as it is.
func (v *values) get(value Value) (string, error) {
	switch {
	case value.Env != "":
		if !slices.Contains(v.variables, value.Env) {
			v.variables = append(v.variables, value.Env)
		}
		text, ok := v.lookup(value.Env)
		state := "is not set"
		if ok {
			state = "is empty"
		}
		if text == "" {
			text = v.env.values[value.Env]
			if warning := fmt.Sprintf("%s: the value of %s refers with a $ to a variable that is not set before it: put a value that has a $ into single quotes", v.env.name, value.Env); v.env.shortened[value.Env] && !slices.Contains(v.warnings, warning) {
				v.warnings = append(v.warnings, warning)
			}
		}
		if text == "" {
			also, hint := v.env.lacks(value.Env)
			return "", &repofs.InputError{Position: value.Position, Message: fmt.Sprintf("%s: the environment variable %s %s%s", value.Field, value.Env, state, also), Hint: "set it, or " + hint + "take the value from a file: {file: PATH}"}
		}
		v.secret = append(v.secret, text)
		return text, nil
	case value.File != "":
		text, err := v.read(value)
		if err == nil {
			v.secret = append(v.secret, text, strings.TrimSpace(text))
		}
		return text, err
	default:
		return value.Text, nil
	}
}

// word reads a value that is one word or line: the line break at the end of a
// file is not part of it.
func (v *values) word(value Value) (string, error) {
	text, err := v.get(value)
	return strings.TrimRight(text, "\r\n"), err
}

// path finds a file that the configuration names.
func (v *values) path(file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(v.folder, filepath.FromSlash(file))
}

// shown is a file that the configuration names as it opens from where people stand.
func (v *values) shown(file string) string {
	if strings.HasPrefix(file, "~/") {
		return file
	}
	return filepath.ToSlash(v.path(file))
}

func (v *values) read(value Value) (string, error) {
	file := v.path(value.File)
	wrong := func(why string) error {
		return &repofs.InputError{Position: value.Position, Message: fmt.Sprintf("%s: the file %s %s", value.Field, v.shown(value.File), why)}
	}
	info, err := os.Stat(file)
	if err != nil {
		var failed *os.PathError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return "", wrong("cannot be read: " + err.Error())
	}
	if !info.Mode().IsRegular() {
		return "", wrong("is no regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", wrong("cannot be read")
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", wrong("cannot be read")
	case len(text) > maxSecret:
		return "", wrong("is larger than 1 MiB")
	case len(text) == 0:
		return "", wrong("is empty")
	}
	return string(text), nil
}

// shortSecret is the length below which a value is left in messages: it would
// take ordinary words apart, and tells nothing.
const shortSecret = 4

// redact takes every value that was read out of a text, as it is written and as
// base64, line by line where it has several.
func (v *values) redact(text string) string {
	var forms []string
	for _, secret := range v.secret {
		forms = append(forms, secret, base64.StdEncoding.EncodeToString([]byte(secret)))
		if lines := strings.Split(secret, "\n"); len(lines) > 1 {
			for _, line := range lines {
				// Lines such as the frame of a key are no secret, and short.
				if line = strings.TrimSpace(line); len(line) > 16 && !strings.HasPrefix(line, "-----") {
					forms = append(forms, line)
				}
			}
		}
	}
	// A value may be part of another one.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, form := range slices.Compact(forms) {
		if len(form) >= shortSecret {
			text = strings.ReplaceAll(text, form, manifest.Redacted)
		}
	}
	return text
}
