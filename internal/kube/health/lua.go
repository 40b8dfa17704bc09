package health

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health/script"
)

// scriptTime bounds one run of a script that is part of the program.
const scriptTime = time.Second

// maxMessage bounds what a message takes of a script, in bytes.
const maxMessage = 16 << 10

// runner runs one health script over an object.
type runner interface {
	run(ctx context.Context, a *Assessor, object map[string]any) (script.Result, error)
	name() string
}

// foreign is a script of a repository. It runs in a worker.
type foreign struct{ source, text string }

func (f foreign) name() string { return f.source }

func (f foreign) run(ctx context.Context, a *Assessor, object map[string]any) (script.Result, error) {
	return evaluate.Lua(ctx, f.source, f.text, object, a.now())
}

// shipped is a script that is part of the program, compiled when it is first
// needed. It runs in this process.
type shipped struct {
	key     string
	compile func() (*script.Lua, error)
}

func (s *shipped) name() string { return s.key }

func (s *shipped) run(ctx context.Context, a *Assessor, object map[string]any) (script.Result, error) {
	compiled, err := s.compile()
	if err != nil {
		return script.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	interpreter, _ := a.scripts.interpreters.Get().(*script.Interpreter)
	result, err := interpreter.Run(limited, compiled, object, a.now())
	if err == nil { // one that failed half way is not used again
		a.scripts.interpreters.Put(interpreter)
	} else if errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("ran longer than %s", scriptTime)
	}
	return result, err
}

// runScript runs a script over an object. A script that fails on an object
// that has no status yet means Progressing: shipped scripts reach into
// obj.status without looking.
func (a *Assessor) runScript(ctx context.Context, s runner, obj *unstructured.Unstructured) Status {
	result, err := s.run(ctx, a, withoutSchemas(obj))
	if err == nil {
		return Status{result.Health, short(result.Message)}
	}
	if _, has := obj.Object["status"]; !has {
		return Status{rollout.Progressing, "has no status yet"}
	}
	return Status{rollout.Unknown, short(fmt.Sprintf("health script %s: %v", s.name(), err))}
}

// short cuts what a script or an expression says where it is long.
func short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + " ..."
}

// withoutSchemas is what scripts get of an object: of a CustomResourceDefinition
// everything but the schemas, which no script reads and which can be megabytes.
func withoutSchemas(obj *unstructured.Unstructured) map[string]any {
	spec, _ := obj.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if obj.GetKind() != "CustomResourceDefinition" || len(versions) == 0 {
		return obj.Object
	}
	lean := maps.Clone(obj.Object)
	spec = maps.Clone(spec)
	versions = slices.Clone(versions)
	for i, v := range versions {
		if version, ok := v.(map[string]any); ok {
			version = maps.Clone(version)
			delete(version, "schema")
			versions[i] = version
		}
	}
	spec["versions"], lean["spec"] = versions, spec
	return lean
}
