package schema

import "github.com/invopop/jsonschema"

// Smoke is a list of checks, or this map.
type Smoke struct {
	HelmTest bool    `json:"helmTest" jsonschema_description:"Runs the test hooks of the chart after each sync."`
	Checks   []Check `json:"checks"`
}

// JSONSchemaExtend allows both.
func (Smoke) JSONSchemaExtend(s *jsonschema.Schema) {
	object := *s
	checks, _ := object.Properties.Get("checks")
	*s = jsonschema.Schema{AnyOf: []*jsonschema.Schema{checks, &object}}
}

// Check is one smoke check: a map with one key, the kind.
type Check struct {
	Condition   *ConditionCheck   `json:"condition" jsonschema_description:"The object has these conditions."`
	Secret      *SecretCheck      `json:"secret" jsonschema_description:"The Secret exists and its keys are not empty."`
	Certificate *CertificateCheck `json:"certificate" jsonschema_description:"The TLS Secret holds a valid certificate with this chain of issuers."`
	Job         *JobCheck         `json:"job" jsonschema_description:"The Job is complete."`
	Endpoint    *EndpointCheck    `json:"endpoint" jsonschema_description:"The Service has a ready endpoint."`
	HTTP        *HTTPCheck        `json:"http" jsonschema_description:"The URL answers with the status."`
	TCP         *TCPCheck         `json:"tcp" jsonschema_description:"The port accepts a connection."`
	CEL         *CELCheck         `json:"cel" jsonschema_description:"The expression is true."`
}

// JSONSchemaExtend asks for exactly one kind.
func (Check) JSONSchemaExtend(s *jsonschema.Schema) {
	one := uint64(1)
	s.MinProperties, s.MaxProperties = &one, &one
}

// ConditionCheck looks at the conditions of an object.
type ConditionCheck struct {
	APIVersion string   `json:"apiVersion" jsonschema:"required"`
	Kind       string   `json:"kind" jsonschema:"required"`
	Name       string   `json:"name" jsonschema:"required"`
	Namespace  string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Conditions Texts    `json:"conditions" jsonschema_description:"Maps the type of a condition to its status. Default: Ready is \"True\"."`
	Timeout    Duration `json:"timeout"`
}

// SecretCheck looks at a Secret.
type SecretCheck struct {
	Name      string   `json:"name" jsonschema:"required"`
	Namespace string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Keys      []string `json:"keys" jsonschema_description:"Must be there and not empty."`
	Timeout   Duration `json:"timeout"`
}

// CertificateCheck looks at a TLS Secret.
type CertificateCheck struct {
	Secret    string   `json:"secret" jsonschema:"required"`
	Namespace string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	IssuedBy  []string `json:"issuedBy" jsonschema_description:"The Secrets of the issuers, from the nearest to the root: name or namespace/name."`
	Subject   string   `json:"subject" jsonschema_description:"The common name."`
	Timeout   Duration `json:"timeout"`
}

// JobCheck waits for a Job.
type JobCheck struct {
	Name      string   `json:"name" jsonschema:"required"`
	Namespace string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Timeout   Duration `json:"timeout"`
}

// EndpointCheck looks at the endpoints of a Service.
type EndpointCheck struct {
	Service   string   `json:"service" jsonschema:"required"`
	Namespace string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Timeout   Duration `json:"timeout"`
}

// HTTPCheck asks a URL.
type HTTPCheck struct {
	URL       string   `json:"url" jsonschema:"required,pattern=^https?://"`
	Status    int      `json:"status" jsonschema:"minimum=100,maximum=599,default=200"`
	Namespace string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Timeout   Duration `json:"timeout"`
}

// TCPCheck opens a connection.
type TCPCheck struct {
	Address   string   `json:"address" jsonschema:"required" jsonschema_description:"host:port"`
	Namespace string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Timeout   Duration `json:"timeout"`
}

// CELCheck evaluates an expression.
type CELCheck struct {
	APIVersion string   `json:"apiVersion" jsonschema:"required"`
	Kind       string   `json:"kind" jsonschema:"required"`
	Name       string   `json:"name" jsonschema_description:"Without a name the expression is over objects."`
	Namespace  string   `json:"namespace" jsonschema_description:"Default: the namespace of the component."`
	Expression string   `json:"expression" jsonschema:"required" jsonschema_description:"Boolean, over object or objects."`
	Timeout    Duration `json:"timeout"`
}
