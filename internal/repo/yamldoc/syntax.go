package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// maxSearched is the greatest size of a file in which the line of a syntax
// error is searched for, in bytes.
const maxSearched = 256 << 10

// yamlLine finds the line in the parser's message, which offers it in no other
// way: "yaml: line 3: did not find expected key".
var yamlLine = lazyregexp.New(`^(?:yaml: )?(?:line (\d+): )?`)

func syntaxMessage(err error) string {
	return strings.TrimSpace(yamlLine.ReplaceAllString(err.Error(), ""))
}

func syntaxError(file string, data []byte, err error) error {
	if line := manifest.ConflictLine(data); line > 0 {
		return &repofs.InputError{Position: finding.Position{File: file, Line: line}, Message: "not valid YAML: " + manifest.Conflict, Err: err}
	}
	message := syntaxMessage(err)
	hint := ""
	switch {
	case strings.Contains(message, "cannot start any token") && bytes.Contains(data, []byte("\t")):
		hint = "indent with spaces, not tabs, and quote a value that starts with a sign such as @ or %"
	case strings.Contains(message, "mapping values are not allowed"):
		hint = "quote a value that holds a colon followed by a space, and check the indentation"
	case strings.Contains(message, "did not find expected"):
		hint = "check the indentation and the quotes around this line"
	}
	var held confidential.Values
	held.AddLines(data)
	return &repofs.InputError{Position: finding.Position{File: file, Line: syntaxLine(data, err)}, Message: "not valid YAML: " + held.Redact(message), Hint: hint, Err: err}
}

// syntaxLine finds the line of a syntax error: the last one of the shortest
// beginning of the file that fails in the same way. The parser's own line is
// often that of the construct around the error, is one too small for half of
// its messages, and is missing for some.
func syntaxLine(data []byte, err error) int {
	if len(data) > maxSearched {
		line, _ := strconv.Atoi(yamlLine.FindStringSubmatch(err.Error())[1])
		return max(line, 1)
	}
	message := syntaxMessage(err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	n := sort.Search(len(lines), func(i int) bool {
		failed := firstError(bytes.Join(lines[:i+1], nil))
		return failed != nil && syntaxMessage(failed) == message
	})
	// The last element is empty when the file ends with a line end.
	if n > 0 && n >= len(lines)-1 && len(lines[len(lines)-1]) == 0 {
		n = len(lines) - 2
	}
	return max(n+1, 1)
}

func firstError(data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
