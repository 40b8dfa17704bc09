package infer

// family is one kind of capability: who provides it and who requires it.
type family struct {
	// provides says what an object provides.
	provides func(o *object, add func(key))
	// requires says what an object needs.
	requires func(w *world, o *object, add func(need))
}

// families are all that look at one object at a time. Controllers, webhooks and
// the binding of claims look at several.
var families = []family{
	{provides: providesKind, requires: requiresKind},
	{provides: providesNamespace, requires: requiresNamespace},
	{requires: requiresController},
	{provides: providesSecret, requires: secretsOfPods},
	{provides: providesChildren},
	{provides: providesMirrored, requires: requiresMirrored},
	{requires: secretsOfRoutes},
	{requires: secretsOfStores},
	{requires: secretsOfResources}, {requires: valuesOfResources},
	{requires: secretsOfVolumes},
	{provides: providesConfigMap},
	{provides: providesServiceAccount, requires: requiresServiceAccount},
	{provides: providesRole, requires: requiresRole},
	{provides: providesStorage, requires: requiresStorage},
	{provides: providesStore, requires: requiresStore},
	{provides: providesIssuer, requires: requiresIssuer},
	{provides: providesClass, requires: requiresClass},
	{provides: providesInstance, requires: requiresInstance},
	{provides: providesInstallation, requires: requiresInstallation},
	{requires: requiresObjectStore},
	{requires: requiresPostgresSource},
	{provides: providesParameters, requires: requiresParameters},
	{provides: providesService, requires: requiresService},
	{provides: providesAPIService, requires: requiresAPIService},
	{requires: requiresHost},
}

// everyNamespace stands in a key for all namespaces: what is copied into each.
const everyNamespace = "*"

// builtin reports whether every cluster has the thing by itself. Source:
// Kubernetes creates these namespaces, a ServiceAccount "default" and a
// ConfigMap "kube-root-ca.crt" in every namespace, two priority classes, and the
// user-facing and system ClusterRoles.
func builtin(k key) bool {
	switch k.Kind {
	case kindNamespace:
		return systemNamespace(k.Name)
	case kindServiceAccount:
		// The other two are OpenShift's.
		return k.Name == "default" || k.Name == "builder" || k.Name == "deployer" || systemNamespace(k.Namespace)
	case kindConfigMap:
		return k.Name == "kube-root-ca.crt" || k.Name == "openshift-service-ca.crt"
	case kindPriorityClass:
		return k.Name == "system-node-critical" || k.Name == "system-cluster-critical"
	}
	return false
}

func systemNamespace(name string) bool {
	switch name {
	case "kube-system", "default", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

// plausible reports whether a key can name a thing: a name that holds what no
// name may hold is a placeholder that something fills in later, or is encrypted.
func plausible(k key) bool {
	switch k.Name {
	case "", "placeholder", "changeme", "change-me", "replace-me", "replaceme", "todo", "tbd":
		return false
	}
	if k.Kind == kindRole || k.Kind == kindClusterRole || k.Kind == kindKind || k.Kind == kindController || k.Name == defaultClass {
		return wellFormed(k.Name, true) || k.Name == defaultClass
	}
	return wellFormed(k.Name, false) && (k.Namespace == "" || k.Namespace == everyNamespace || wellFormed(k.Namespace, false))
}

// wellFormed follows Kubernetes' rule for names of objects, and the looser one
// for roles and, here, kinds.
func wellFormed(name string, loose bool) bool {
	if len(name) > 253 {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '-' || c == '.':
			if i == 0 || i == len(name)-1 {
				return false
			}
		case loose && (c >= 'A' && c <= 'Z' || c == ':' || c == '/' || c == '*' || c == '_'):
		default:
			return false
		}
	}
	return name != ""
}
