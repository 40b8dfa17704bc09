package infer

import (
	"slices"
	"strings"
)

// Crossplane: the kinds of managed resources and of ProviderConfigs come with the
// package of a Provider, whose name says which they are.

// packageName is the last part of the image of a package, without tag and digest.
func packageName(image string) string {
	image = imageRepository(image)
	return image[strings.LastIndexByte(image, '/')+1:]
}

// familyOf is the package that one of a service depends on, and that comes with it:
// provider-family-aws for provider-aws-s3. Source: Upbound, "Provider families".
func familyOf(name string) string {
	for _, family := range []string{"aws", "azure", "gcp"} {
		if strings.HasPrefix(name, "provider-"+family+"-") {
			return "provider-family-" + family
		}
	}
	return ""
}

// packagesOf are the packages that may bring the kinds of a group, the likeliest
// first. Source: the packages of Upbound and crossplane-contrib: the group
// "s3.aws.upbound.io" comes with "provider-aws-s3", or with a whole
// "provider-aws"; "aws.upbound.io" with the family's package; a group of the
// namespaced kinds has an "m" before its end.
func packagesOf(group string) []key {
	rest, ok := strings.CutSuffix(group, ".upbound.io")
	if !ok {
		rest, ok = strings.CutSuffix(group, ".crossplane.io")
	}
	if !ok || slices.Contains([]string{"pkg", "apiextensions", "meta.pkg", "secrets", "ops", "protection"}, rest) {
		return nil
	}
	parts := strings.Split(strings.TrimSuffix(rest, ".m"), ".")
	family := parts[len(parts)-1]
	var names []string
	for _, service := range parts[:len(parts)-1] {
		names = append(names, "provider-"+family+"-"+service)
	}
	names = append(names, "provider-"+family, "provider-family-"+family, "provider-jet-"+family, "provider-upjet-"+family)
	var out []key
	for _, name := range names {
		out = append(out, key{Kind: kindPackage, Name: name})
	}
	return out
}
