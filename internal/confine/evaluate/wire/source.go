package wire

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// Request is one source of a component to render.
type Request struct {
	Source model.Source `json:"source"`
	// Component and Namespace are those that the source is rendered for.
	Component string `json:"component"`
	Namespace string `json:"namespace"`
	// KubeVersion and APIVersions are those of the target.
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	// MaxOutput bounds the text that the source renders to, in bytes.
	MaxOutput int `json:"maxOutput"`
	// Partial renders what can be rendered where a part cannot be had.
	Partial bool `json:"partial"`
	// Offline is set where nothing is fetched.
	Offline bool `json:"offline"`
}

// Reply is what a source renders to.
type Reply struct {
	Asks    bool     `json:"asks"`
	Remote  bool     `json:"remote,omitempty"`
	Objects []Object `json:"objects"`
	Lacking []Lack   `json:"lacking,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Object is an object as JSON.
type Object struct {
	Object    json.RawMessage `json:"object"`
	Origin    manifest.Origin `json:"origin"`
	CRDFolder bool            `json:"crdFolder,omitempty"`
}

// Lack is a part that is left out.
type Lack struct {
	Source    model.Source     `json:"source"`
	Namespace string           `json:"namespace,omitempty"`
	Moved     bool             `json:"moved,omitempty"`
	Deleted   []source.Named   `json:"deleted,omitempty"`
	Position  finding.Position `json:"position"`
	Reason    string           `json:"reason"`
	Encrypted bool             `json:"encrypted,omitempty"`
}

// Failure is why a source could not be rendered.
type Failure struct {
	Position finding.Position `json:"position"`
	Reason   string           `json:"reason"`
	// These say what kind of failure it is.
	Without   bool `json:"without,omitempty"`   // source.ErrWithout
	Encrypted bool `json:"encrypted,omitempty"` // source.ErrEncrypted
	Plugin    bool `json:"plugin,omitempty"`    // a program that is not run
	Syntax    bool `json:"syntax,omitempty"`    // a file that is not YAML
	// Missing is the path of a file that does not exist.
	Missing     string `json:"missing,omitempty"`
	Unavailable *Lack  `json:"unavailable,omitempty"`
}

// Lacking is the part that is left out.
func (l Lack) Lacking() source.Lacking {
	err := &source.Error{Position: l.Position, Reason: l.Reason}
	if l.Encrypted {
		err.Err = source.ErrEncrypted
	}
	return source.Lacking{Source: l.Source, Namespace: l.Namespace, Moved: l.Moved, Deleted: l.Deleted, Err: err}
}

// Err is the failure as the renderers report it.
func (f *Failure) Err() error {
	if f.Unavailable != nil {
		return &source.UnavailableError{Lacking: f.Unavailable.Lacking()}
	}
	problem := &source.Error{Position: f.Position, Reason: f.Reason}
	var causes []error
	if f.Without {
		causes = append(causes, source.ErrWithout)
	}
	if f.Encrypted {
		causes = append(causes, source.ErrEncrypted)
	}
	if f.Plugin {
		causes = append(causes, source.ErrPlugin)
	}
	if f.Syntax {
		causes = append(causes, &manifest.SyntaxError{Line: f.Position.Line, Message: f.Reason})
	}
	if f.Missing != "" {
		causes = append(causes, &fs.PathError{Op: "open", Path: f.Missing, Err: fs.ErrNotExist})
	}
	if len(causes) == 1 {
		problem.Err = causes[0]
	} else {
		problem.Err = errors.Join(causes...)
	}
	return problem
}
