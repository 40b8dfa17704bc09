package fetch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
)

// release is one version of a chart in an index.
type release struct {
	Version string   `json:"version" yaml:"version"`
	URLs    []string `json:"urls" yaml:"urls"`
}

const (
	// maxRelease bounds the text of one release in an index, in bytes: an index of
	// others is parsed in pieces that cannot become large in memory.
	maxRelease = 256 << 10
	// maxReleases bounds the releases of one chart.
	maxReleases = 20_000
)

// lookUp finds the address of a chart in an index file. It chooses as Helm does:
// the version itself, else the highest one in the range.
func lookUp(file, name, version string) (string, error) {
	if version == "" {
		version = "*"
	}
	constraint, err := semver.NewConstraint(version)
	if err != nil {
		return "", fmt.Errorf("version %q: %w", version, err)
	}
	var (
		best     *semver.Version
		bestURLs []string
		equal    bool
		known    int
		consider = func(r release) error {
			if known++; known > maxReleases {
				return fmt.Errorf("chart %s has more than %d releases", name, maxReleases)
			}
			v, err := semver.NewVersion(r.Version)
			switch {
			case equal:
			case r.Version == version:
				equal, bestURLs, best = true, r.URLs, v
			case err != nil || !constraint.Check(v):
			case best == nil || v.GreaterThan(best):
				bestURLs, best = r.URLs, v
			}
			return nil //nolint:nilerr // a release whose version is none is not chosen
		}
	)
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	err = releases(f, name, consider)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("read index: %w", err)
	}
	switch {
	case known == 0:
		return "", fmt.Errorf("the index has no chart %s", name)
	case best == nil && !equal:
		return "", fmt.Errorf("the index has no version %s of chart %s", version, name)
	case len(bestURLs) == 0:
		return "", fmt.Errorf("the index has no address of chart %s", name)
	}
	return bestURLs[0], nil
}

// releases calls consider with each release of a chart. The index is YAML in block
// style, as Helm writes it, or JSON.
func releases(r io.Reader, name string, consider func(release) error) error {
	text := bufio.NewReaderSize(r, 64<<10)
	start, _ := text.Peek(64)
	if bytes.HasPrefix(bytes.TrimSpace(start), []byte("{")) {
		return releasesJSON(text, name, consider)
	}
	return releasesYAML(text, name, consider)
}

func releasesJSON(r io.Reader, name string, consider func(release) error) error {
	text := &paced{Reader: r, left: math.MaxInt}
	d := json.NewDecoder(text)
	if _, err := d.Token(); err != nil {
		return err
	}
	if ok, err := enter(d, "entries", '{'); !ok {
		return err
	}
	if ok, err := enter(d, name, '['); !ok {
		return err
	}
	for text.left = maxRelease; d.More(); text.left = maxRelease {
		var one release
		if err := d.Decode(&one); errors.Is(err, errPace) {
			return tooLarge(name)
		} else if err != nil {
			return err
		}
		if err := consider(one); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge(name string) error {
	return fmt.Errorf("a release of chart %s is larger than %d bytes", name, maxRelease)
}

// paced bounds how much is read until it is set again: a json.Decoder holds the whole of
// what it decodes. It gives little at a time, so that little is read ahead.
type paced struct {
	io.Reader
	left int
}

var errPace = errors.New("a value is too large")

// Read implements io.Reader.
func (p *paced) Read(data []byte) (int, error) {
	if p.left == 0 {
		return 0, errPace
	}
	n, err := p.Reader.Read(data[:min(len(data), p.left, 64<<10)])
	p.left -= n
	return n, err
}

// enter moves to the value of a key of the object that is being read, and into it.
func enter(d *json.Decoder, key string, open json.Delim) (bool, error) {
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return false, err
		}
		if k != key {
			if err := skip(d); err != nil {
				return false, err
			}
			continue
		}
		value, err := d.Token()
		if err != nil {
			return false, err
		}
		return value == open, nil
	}
	return false, nil
}

// maxNested bounds lists and maps in each other: a json.Decoder remembers all that are
// open.
const maxNested = 1000

// skip reads a value without keeping it.
func skip(d *json.Decoder) error {
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxNested {
				return fmt.Errorf("it is nested more than %d levels deep", maxNested)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// releasesYAML cuts the items of the list entries.NAME out of the text and parses
// each alone. So an alias of something outside of it is an error, and nothing has
// to be held but one release.
func releasesYAML(r *bufio.Reader, name string, consider func(release) error) error {
	const (
		outside = iota
		entries
		chart
	)
	var (
		state      = outside
		keyIndent  = -1 // of the names of charts
		dash       = -1 // indentation of the items
		item       bytes.Buffer
		endRelease = func() error {
			if item.Len() == 0 {
				return nil
			}
			var list []release
			err := yaml.Unmarshal(item.Bytes(), &list)
			item.Reset()
			if err != nil {
				return fmt.Errorf("chart %s: %w", name, err)
			}
			for _, one := range list {
				if err := consider(one); err != nil {
					return err
				}
			}
			return nil
		}
	)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end := err != nil
		content := bytes.TrimLeft(line, " ")
		indent := len(line) - len(content)
		content = bytes.TrimRight(content, "\r\n\t ")
		switch {
		case len(content) == 0 || content[0] == '#' && state != chart:
		case state == chart && (indent > keyIndent || indent == keyIndent && content[0] == '-'):
			if content[0] == '-' && (dash < 0 || indent == dash) {
				dash = indent
				if err := endRelease(); err != nil {
					return err
				}
			}
			if item.Len()+len(line) > maxRelease {
				return tooLarge(name)
			}
			item.Write(line)
		case state == chart:
			return endRelease()
		case indent == 0:
			state = outside
			if isKey(content, "entries") {
				state = entries
			}
		case state == entries && (keyIndent < 0 || indent == keyIndent):
			keyIndent = indent
			if isKey(content, name) {
				state = chart
			}
		}
		if end {
			return endRelease()
		}
	}
}

// isKey reports whether a line is "key:", in quotes or not, and no value follows.
func isKey(line []byte, key string) bool {
	text, ok := strings.CutSuffix(string(line), ":")
	return ok && (text == key || text == `"`+key+`"` || text == `'`+key+`'`)
}
