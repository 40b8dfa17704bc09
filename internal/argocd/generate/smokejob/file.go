package smokejob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// FormatVersion is that of the file of checks.
const FormatVersion = "1"

// MaxFile bounds a file of checks, in bytes: a ConfigMap holds no more.
const MaxFile = 1 << 20

// File is a file of checks, in YAML or JSON.
type File struct {
	FormatVersion string `json:"formatVersion"`
	// Component is the smoke whose checks these are.
	Component string  `json:"component,omitempty"`
	Checks    []Check `json:"checks"`
}

// Check is one model.Check. Which fields matter depends on Check.
type Check struct {
	// Check is the kind of check: condition, secret, certificate, job, endpoint,
	// http, tcp or cel.
	Check string `json:"check"`
	// Group, Kind, Namespace and Name are the object's; secret, certificate, job
	// and endpoint know their group and kind.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`

	Conditions map[string]string `json:"conditions,omitempty"`
	Keys       []string          `json:"keys,omitempty"`
	IssuedBy   []string          `json:"issuedBy,omitempty"`
	Subject    string            `json:"subject,omitempty"`
	URL        string            `json:"url,omitempty"`
	Address    string            `json:"address,omitempty"`
	Status     int               `json:"status,omitempty"`
	Expression string            `json:"expression,omitempty"`
	// Timeout is a duration such as 30s.
	Timeout string `json:"timeout,omitempty"`
}

// Marshal writes the checks of a component. An address with credentials is an
// error, which does not repeat it.
func Marshal(name string, checks []model.Check) ([]byte, error) {
	f := File{FormatVersion: FormatVersion, Component: name, Checks: []Check{}}
	for _, c := range checks {
		if finding.Redact(c.URL) != c.URL || finding.Redact(c.Address) != c.Address {
			return nil, fmt.Errorf("write the checks of %s: %s: the address holds credentials", name, c.Position)
		}
		out := Check{
			Check: string(c.Kind), Group: c.Group, Kind: c.ObjectKind, Namespace: c.Namespace, Name: c.Name,
			Conditions: c.Conditions, Keys: c.Keys, IssuedBy: c.IssuedBy, Subject: c.Subject,
			URL: c.URL, Address: c.Address, Status: c.Status, Expression: c.Expression,
		}
		if group, kind, fixed := object(c.Kind); fixed {
			if c.ObjectKind == kind && c.Group == group {
				out.Group, out.Kind = "", ""
			}
		}
		if c.Timeout > 0 {
			out.Timeout = c.Timeout.String()
		}
		f.Checks = append(f.Checks, out)
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("write the checks of %s: %w", name, err)
	}
	return text, nil
}

// Read reads a file of checks. Its errors say which check is wrong, by its place
// in the file, counted from 1.
func Read(text []byte) (name string, checks []model.Check, err error) {
	if len(text) > MaxFile {
		return "", nil, fmt.Errorf("read the checks: the file is longer than %d bytes", MaxFile)
	}
	var f File
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return "", nil, fmt.Errorf("read the checks: %w", err)
	}
	if f.FormatVersion != FormatVersion {
		return "", nil, fmt.Errorf("read the checks: formatVersion is %q, not %q", f.FormatVersion, FormatVersion)
	}
	for i, c := range f.Checks {
		check, err := c.read()
		if err != nil {
			return "", nil, fmt.Errorf("read the checks: check %d: %w", i+1, err)
		}
		checks = append(checks, check)
	}
	return f.Component, checks, nil
}

func (c Check) read() (model.Check, error) {
	out := model.Check{
		Kind: model.CheckKind(c.Check), Group: c.Group, ObjectKind: c.Kind, Namespace: c.Namespace, Name: c.Name,
		Conditions: c.Conditions, Keys: c.Keys, IssuedBy: c.IssuedBy, Subject: c.Subject,
		URL: c.URL, Address: c.Address, Status: c.Status, Expression: c.Expression,
	}
	if group, kind, fixed := object(out.Kind); fixed {
		out.Group, out.ObjectKind = group, kind
	}
	if c.Timeout != "" {
		d, err := time.ParseDuration(c.Timeout)
		if err != nil || d <= 0 {
			return model.Check{}, fmt.Errorf("timeout %q is not a duration such as 30s", c.Timeout)
		}
		out.Timeout = d
	}
	need := map[string]string{}
	switch out.Kind {
	case model.CheckCondition:
		need["kind"], need["name"] = c.Kind, c.Name
		if len(c.Conditions) == 0 {
			return model.Check{}, errors.New("condition has no conditions")
		}
	case model.CheckSecret, model.CheckCertificate, model.CheckJob, model.CheckEndpoint:
		need["name"], need["namespace"] = c.Name, c.Namespace
	case model.CheckHTTP:
		need["url"] = c.URL
	case model.CheckTCP:
		need["address"] = c.Address
	case model.CheckCEL:
		need["kind"], need["expression"] = c.Kind, c.Expression
	default:
		return model.Check{}, fmt.Errorf("check %q is not known", c.Check)
	}
	var lacking []string
	for field, value := range need {
		if value == "" {
			lacking = append(lacking, field)
		}
	}
	if len(lacking) > 0 {
		slices.Sort(lacking)
		return model.Check{}, fmt.Errorf("%s has no %s", c.Check, strings.Join(lacking, ", no "))
	}
	return out, nil
}

// object is the kind that a kind of check always looks at.
func object(check model.CheckKind) (group, kind string, fixed bool) {
	switch check {
	case model.CheckSecret, model.CheckCertificate:
		return "", "Secret", true
	case model.CheckJob:
		return "batch", "Job", true
	case model.CheckEndpoint:
		return "", "Service", true
	default:
		return "", "", false
	}
}
