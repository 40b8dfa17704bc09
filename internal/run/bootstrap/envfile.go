package bootstrap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/joho/godotenv"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// envFile is a file of variables.
type envFile struct {
	// name is what messages call it; empty where the configuration names none.
	name   string
	there  bool
	values map[string]string
	// shortened are the variables whose values refer to one that is not set before them.
	shortened map[string]bool
}

// readEnv reads the file of variables. Its values are secret; those that nothing
// asks for go nowhere.
func (v *values) readEnv(p Path) error {
	if p.Path == "" {
		return nil
	}
	v.env.name = v.shown(p.Path)
	wrong := func(why string) error {
		return &repofs.InputError{Position: p.Position, Message: "envFile: " + v.env.name + why}
	}
	// A pipe would wait for its writer when it is opened.
	info, err := os.Stat(v.path(p.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return wrong(" cannot be read")
	case !info.Mode().IsRegular():
		return wrong(" is no regular file")
	}
	f, err := os.Open(v.path(p.Path))
	if err != nil {
		return wrong(" cannot be read")
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return wrong(" cannot be read")
	case len(text) > maxSecret:
		return wrong(" is larger than 1 MiB")
	}
	v.env.there = true
	// The error quotes the file, secrets and all.
	if v.env.values, err = godotenv.Parse(bytes.NewReader(text)); err != nil {
		at, why := malformed(text)
		return wrong(fmt.Sprintf(":%d %s", at, why))
	}
	v.env.shortened = shortened(text, v.env.values)
	return nil
}

var reference = regexp.MustCompile(`\$\{?([A-Z0-9_]+)`)

// shortened finds the variables of a file that other values come out with where all that is
// referred to has a value from the beginning.
func shortened(text []byte, values map[string]string) map[string]bool {
	var set bytes.Buffer
	for _, name := range reference.FindAllSubmatch(text, -1) {
		fmt.Fprintf(&set, "%s=set\n", name[1])
	}
	all, err := godotenv.Parse(io.MultiReader(&set, bytes.NewReader(text)))
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for name, value := range values {
		found[name] = all[name] != value
	}
	return found
}

// malformed is the line of a file of variables where the first one begins that cannot be read,
// and what is wrong with it; a quoted value goes on over lines.
func malformed(text []byte) (int, string) {
	begin, line := 1, 0
	var variable, first []byte
	for l := range bytes.Lines(text) {
		if line++; line == begin {
			first = l
		}
		variable = append(variable, l...)
		if _, err := godotenv.Parse(bytes.NewReader(variable)); err == nil {
			variable, begin = variable[:0], line+1
		} else if line-begin > maxVariable {
			break
		}
	}
	if _, err := godotenv.Parse(bytes.NewReader(first)); err != nil && strings.HasPrefix(err.Error(), "unterminated quoted value") {
		return begin, "has a quote that is not closed"
	}
	return begin, "is not NAME=value"
}

// maxVariable is how many lines of a value are looked through for its end.
const maxVariable = 200

// lacks says that a variable is not in the file either, and how it gets there.
func (e envFile) lacks(variable string) (also, hint string) {
	switch {
	case e.name == "":
		return "", ""
	case e.there:
		also = ", nor in " + e.name
		if _, written := e.values[variable]; written {
			return ", and has no value in " + e.name, "write its value into that file, or "
		}
	default:
		also = ", and " + e.name + " is not there"
	}
	return also, "write " + variable + "=... into that file, or "
}
