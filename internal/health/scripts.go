package health

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// own holds the scripts of this project for kinds that gate a platform and that
// Argo CD does not ship. Each names its source in a comment.
//
//go:embed all:lua
var own embed.FS

const scriptFile = "health.lua"

// script is one health script, compiled when it is first needed.
type script struct {
	name    string
	compile func() (*lua.FunctionProto, error)
	// untrusted scripts come from the repository of a user: they run in an
	// interpreter of their own, with a watch on memory.
	untrusted bool
}

// scripts finds the script of a kind.
type scripts struct {
	exact map[string]*script // by "group/Kind"
	// wildcards are Argo CD's folders with an underscore, which stands for any
	// text: "_.crossplane.io/_". Sorted, the first match wins.
	wildcards []wildcard
	states    sync.Pool
}

type wildcard struct {
	pattern string
	script  *script
}

func newScripts() *scripts {
	s := &scripts{exact: map[string]*script{}}
	s.states.New = func() any { return newState() }
	// Argo CD's come last: where both have a script, theirs wins.
	s.read(own, "lua")
	s.read(resource_customizations.Embedded, ".")
	slices.SortFunc(s.wildcards, func(a, b wildcard) int { return strings.Compare(a.pattern, b.pattern) })
	return s
}

func (s *scripts) read(files embed.FS, root string) {
	// An embedded tree has no I/O errors to report.
	_ = fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) != scriptFile {
			return err
		}
		key := strings.TrimPrefix(path.Dir(name), root+"/")
		sc := &script{name: key, compile: sync.OnceValues(func() (*lua.FunctionProto, error) {
			source, err := files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			return compileLua(key, string(source))
		})}
		if strings.Contains(key, "_") {
			s.wildcards = append(s.wildcards, wildcard{strings.ReplaceAll(key, "_", "*"), sc})
			return nil
		}
		// A folder may stand for several kinds: "Consumer+Stream".
		group, kinds, _ := strings.Cut(key, "/")
		for kind := range strings.SplitSeq(kinds, "+") {
			s.exact[group+"/"+kind] = sc
		}
		return nil
	})
}

// lookup returns the script of a kind, nil where there is none.
func (s *scripts) lookup(gk schema.GroupKind) *script {
	key := gk.Group + "/" + gk.Kind
	if sc, ok := s.exact[key]; ok {
		return sc
	}
	for _, w := range s.wildcards {
		if ok, err := path.Match(w.pattern, key); ok && err == nil {
			return w.script
		}
	}
	return nil
}

// Assessed reports whether a kind has an assessment of its own, so that an
// object of it without a status is not taken for Healthy: a script or code of
// Argo CD's, or a script of this package.
func (a *Assessor) Assessed(gk schema.GroupKind) bool {
	return gk.Kind == "CustomResourceDefinition" || a.customised(gk) != nil || a.scripts.lookup(gk) != nil || builtin(gk) != nil
}

// ByWorkloads reports whether objects of a kind have no status of their own, so
// that the workloads they own stand for them. Source: the schema of the kind's
// CRD.
func ByWorkloads(gk schema.GroupKind) bool {
	return gk.Group == "databases.spotahome.com" && gk.Kind == "RedisFailover"
}

// OwnKinds lists the kinds that this package has scripts for, sorted.
func OwnKinds() []schema.GroupKind {
	s := &scripts{exact: map[string]*script{}}
	s.read(own, "lua")
	var out []schema.GroupKind
	for _, key := range slices.Sorted(maps.Keys(s.exact)) {
		group, kind, _ := strings.Cut(key, "/")
		out = append(out, schema.GroupKind{Group: group, Kind: kind})
	}
	return out
}

func compileLua(name, source string) (*lua.FunctionProto, error) {
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, fmt.Errorf("parse Lua %s: %w", name, err)
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, fmt.Errorf("compile Lua %s: %w", name, err)
	}
	return proto, nil
}
