package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// MaxDocument is the greatest size of one YAML document, in bytes. The API
// server takes requests of up to 3 MiB; the greatest CRDs in use are near 2 MiB
// of YAML.
const MaxDocument = 16 << 20

// SyntaxError says that a document could not be read. Line counts from 1 in the
// text that was given; 0 means that the line is not known.
type SyntaxError struct {
	Line    int
	Message string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Malformed finds the file that a failure of kustomize is about: it says that YAML does
// not parse, and names the file without its folder. read are the files that kustomize
// read. It returns "" where none is found.
func Malformed(failure string, read []string, content func(string) ([]byte, error)) (file string, problem *SyntaxError) {
	if !strings.Contains(failure, "yaml: ") {
		return "", nil
	}
	for _, name := range read {
		if !strings.Contains(failure, path.Base(name)) {
			continue
		}
		data, err := content(name)
		if err != nil {
			continue
		}
		for _, doc := range Split(data) {
			if _, err := doc.Decode(); errors.As(err, &problem) {
				return name, problem
			}
		}
	}
	return "", nil
}

// LooksLike reports whether a text is most likely meant to hold objects, even where it
// does not parse. Source: Argo CD, which passes over other files of a folder.
func LooksLike(data []byte) bool {
	holds := func(key string) bool {
		return bytes.Contains(data, []byte(key+":")) || bytes.Contains(data, []byte(`"`+key+`":`))
	}
	return holds("apiVersion") && holds("kind")
}

// Document is one document of a YAML stream.
type Document struct {
	// Line is the first line with content, counting from 1.
	Line int
	// Offset is where that line begins, in bytes.
	Offset int
	// Text is the document without its markers.
	Text []byte
}

// Split cuts a stream into its documents. Documents that hold nothing but
// blanks and comments are left out.
func Split(data []byte) []Document {
	var docs []Document
	start, startLine := 0, 1
	flush := func(end int) {
		if line, offset, ok := content(data[start:end]); ok {
			docs = append(docs, Document{Line: startLine + line, Offset: start + offset, Text: data[start:end]})
		}
	}
	for pos, line := 0, 1; pos < len(data); line++ {
		end := bytes.IndexByte(data[pos:], '\n')
		next := len(data)
		if end >= 0 {
			next = pos + end + 1
		}
		text := data[pos:next]
		switch {
		case isMarker(text, "---"):
			flush(pos)
			// What follows the marker on its line belongs to the document.
			start, startLine = pos+3, line
			if rest := bytes.TrimSpace(text[3:]); len(rest) == 0 || rest[0] == '#' || rest[0] == '%' {
				start, startLine = next, line+1
			}
		case isMarker(text, "..."):
			flush(pos)
			start, startLine = next, line+1
		}
		pos = next
	}
	if start <= len(data) {
		flush(len(data))
	}
	return docs
}

func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	return len(line) == len(marker) || strings.ContainsRune(" \t\r\n", rune(line[len(marker)]))
}

// content finds the first line that is not blank, a comment or a directive.
func content(text []byte) (line, offset int, ok bool) {
	for pos := 0; pos < len(text); line++ {
		next := len(text)
		if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		if t := bytes.TrimSpace(text[pos:next]); len(t) > 0 && t[0] != '#' && t[0] != '%' {
			return line, pos, true
		}
		pos = next
	}
	return 0, 0, false
}

// Decode reads one document into plain values as Kubernetes clients do: YAML
// 1.1 scalars, integers as int64. A document that holds null is nil.
func (d Document) Decode() (any, error) {
	if len(d.Text) > MaxDocument {
		return nil, &SyntaxError{Line: d.Line, Message: fmt.Sprintf("document of %d bytes is over the limit of %d", len(d.Text), MaxDocument)}
	}
	first := d.Line - leading(d.Text)
	if err := CheckAliases(d.Text); err != nil {
		var s *SyntaxError
		if errors.As(err, &s) && s.Line > 0 {
			return nil, &SyntaxError{Line: s.Line + first - 1, Message: s.Message}
		}
		return nil, err
	}
	// Kubernetes clients read lines and end each of them, so that a block of text at the end
	// of a file has a line break that the file lacks.
	text := d.Text
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(slices.Clip(text), '\n')
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, syntaxError(err, text, first)
	}
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return nil, &SyntaxError{Line: d.Line, Message: err.Error()}
	}
	return integers(value), nil
}

// leading counts the lines before the first content of a document.
func leading(text []byte) int {
	line, _, _ := content(text)
	return line
}

// integers turns whole JSON numbers into int64, as unstructured objects want
// them.
func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		_ = utiljson.ConvertMapNumbers(v, 0)
	case []any:
		_ = utiljson.ConvertSliceNumbers(v, 0)
	}
	return value
}

var yamlLine = lazyregexp.New(`^yaml: line (\d+): (?s:(.*))$`)

// syntaxError puts an error of the YAML library into our words. first is the
// line of the stream at which the text of the document begins.
func syntaxError(err error, text []byte, first int) error {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	if strings.Contains(message, "invalid map key: ") { // the library tells it in types of Go
		return &SyntaxError{Line: first + oddKey(text) - 1, Message: "a map or a list stands as a key; a value that begins with { is text only in quotes"}
	}
	if line := ConflictLine(text); line > 0 {
		return &SyntaxError{Line: first + line - 1, Message: Conflict}
	}
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		n, convErr := strconv.Atoi(m[1])
		if convErr == nil {
			return &SyntaxError{Line: first + n - 1, Message: m[2]}
		}
	}
	return &SyntaxError{Line: first, Message: strings.TrimPrefix(message, "yaml: ")}
}

// Conflict says why a text does not parse that holds the markers of a merge by git.
const Conflict = "unresolved merge conflict; merge its sides, and remove the markers"

var conflictMarker = lazyregexp.New(`(?m)^(?:<<<<<<<|>>>>>>>) `)

// ConflictLine is the first line of a text that is a marker of a merge conflict, counting
// from 1; 0 where none is. A text that parses may hold one and mean it.
func ConflictLine(text []byte) int {
	at := conflictMarker.FindIndex(text)
	if at == nil {
		return 0
	}
	return bytes.Count(text[:at[0]], []byte("\n")) + 1
}

// Parsed is one object of a stream and the line of its document.
type Parsed struct {
	Object *unstructured.Unstructured
	Line   int
	Offset int
}

// Parse reads every object of a stream: empty documents are skipped, lists are
// flattened. A document that is no Kubernetes object is a *SyntaxError.
func Parse(data []byte) ([]Parsed, error) {
	var out []Parsed
	for _, doc := range Split(data) {
		value, err := doc.Decode()
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, &SyntaxError{Line: doc.Line, Message: "document is not a Kubernetes object"}
		}
		if len(object) == 0 {
			continue
		}
		flat, err := Flatten(object)
		if err != nil {
			return nil, &SyntaxError{Line: doc.Line, Message: err.Error()}
		}
		for _, u := range flat {
			out = append(out, Parsed{Object: u, Line: doc.Line, Offset: doc.Offset})
		}
	}
	return out, nil
}

// Flatten returns the object, or the items of a list such as v1 List or
// ConfigMapList; lists in lists are flattened too.
func Flatten(object map[string]any) ([]*unstructured.Unstructured, error) {
	return flatten(object, 0)
}

const maxListDepth = 8

// ErrNoObject says that a mapping lacks what every object of Kubernetes has.
var ErrNoObject = errors.New("document is not a Kubernetes object")

// ErrNoVersion says so of one with a kind and a name, which is meant to be an object.
var ErrNoVersion = fmt.Errorf("%w: it has no apiVersion", ErrNoObject)

func flatten(object map[string]any, depth int) ([]*unstructured.Unstructured, error) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if metadata, _ := object["metadata"].(map[string]any); apiVersion == "" && kind != "" && metadata["name"] != nil {
		return nil, ErrNoVersion
	}
	if apiVersion == "" || kind == "" {
		return nil, fmt.Errorf("%w: it has no %s", ErrNoObject, missing(apiVersion, kind))
	}
	items, isList := object["items"].([]any)
	if nothing, ok := object["items"]; kind == "List" && (!ok || nothing == nil) {
		return nil, nil
	}
	if !isList || !strings.HasSuffix(kind, "List") {
		// The accessors of unstructured objects panic on nothing, but return
		// silently empty strings for a wrong type: say it here.
		if meta, ok := object["metadata"]; ok && meta != nil {
			if _, ok := meta.(map[string]any); !ok {
				return nil, fmt.Errorf("metadata of %s is not a mapping", kind)
			}
		}
		if err := nameable(object, apiVersion, kind); err != nil {
			return nil, err
		}
		return []*unstructured.Unstructured{{Object: object}}, nil
	}
	if depth >= maxListDepth {
		return nil, fmt.Errorf("lists are nested more than %d deep", maxListDepth)
	}
	var out []*unstructured.Unstructured
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d of %s is not a Kubernetes object", i, kind)
		}
		if itemKind := strings.TrimSuffix(kind, "List"); itemKind != "" {
			if m["kind"] == nil {
				m["kind"] = itemKind
			}
			if m["apiVersion"] == nil {
				m["apiVersion"] = apiVersion
			}
		}
		flat, err := flatten(m, depth+1)
		if err != nil {
			return nil, fmt.Errorf("item %d of %s: %w", i, kind, err)
		}
		out = append(out, flat...)
	}
	return out, nil
}

// nameable refuses an object whose name could not be printed as it is: every output
// names objects, and Kubernetes takes no such name.
func nameable(object map[string]any, apiVersion, kind string) error {
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	for _, word := range []string{apiVersion, kind, name, namespace} {
		if finding.Plain(word) != word {
			return fmt.Errorf("%q names an object and holds a character that is not printed, which Kubernetes does not take", word)
		}
	}
	return nil
}

func missing(apiVersion, kind string) string {
	switch {
	case apiVersion == "" && kind == "":
		return "apiVersion and kind"
	case kind == "":
		return "kind"
	default:
		return "apiVersion"
	}
}
