package health

import (
	"context"
	"embed"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/kube/health/script"
)

// own holds the scripts of this project for kinds that gate a platform and that
// Argo CD does not ship. Each names its source in a comment.
//
//go:embed all:lua
var own embed.FS

const scriptFile = "health.lua"

// scripts finds the script of a kind.
type scripts struct {
	exact map[string]*shipped // by "group/Kind"
	// wildcards are Argo CD's folders with an underscore, which stands for any
	// text: "_.crossplane.io/_". Sorted, the first match wins.
	wildcards []wildcard
	// interpreters run them: they are trusted to leave the libraries alone.
	interpreters sync.Pool
}

type wildcard struct {
	pattern string
	script  *shipped
}

func newScripts() *scripts {
	s := &scripts{exact: map[string]*shipped{}}
	s.interpreters.New = func() any { return script.NewInterpreter() }
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
		sc := &shipped{key: key, compile: sync.OnceValues(func() (*script.Lua, error) {
			source, err := files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			return script.CompileLua(key, string(source))
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
func (s *scripts) lookup(gk schema.GroupKind) *shipped {
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
func (a *Assessor) Assessed(ctx context.Context, gk schema.GroupKind) bool {
	custom, err := a.custom.lookup(ctx, gk)
	return gk.Kind == "CustomResourceDefinition" || custom != nil || err != nil || a.scripts.lookup(gk) != nil || builtin(gk) != nil
}

// ByWorkloads reports whether objects of a kind have no status of their own, so
// that the workloads they own stand for them. Source: the schema of the kind's
// CRD.
func ByWorkloads(gk schema.GroupKind) bool {
	return gk.Group == "databases.spotahome.com" && gk.Kind == "RedisFailover"
}

// OwnKinds lists the kinds that this package has scripts for, sorted.
func OwnKinds() []schema.GroupKind {
	s := &scripts{exact: map[string]*shipped{}}
	s.read(own, "lua")
	var out []schema.GroupKind
	for _, key := range slices.Sorted(maps.Keys(s.exact)) {
		group, kind, _ := strings.Cut(key, "/")
		out = append(out, schema.GroupKind{Group: group, Kind: kind})
	}
	return out
}
