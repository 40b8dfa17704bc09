package manifest

import "bytes"

// EncryptedBy names the tool that encrypted a whole file, so that nobody without
// its key knows what is in it; empty where it is readable. Files in which SOPS
// encrypted the values only are readable. Source: the formats of these tools.
func EncryptedBy(data []byte) string {
	for _, f := range []struct{ begin, tool string }{
		{"\x00GITCRYPT\x00", "git-crypt"},
		{"$ANSIBLE_VAULT;", "Ansible Vault"},
		{"age-encryption.org/", "age"},
		{"-----BEGIN AGE ENCRYPTED FILE-----", "age"},
		{"-----BEGIN PGP MESSAGE-----", "PGP"},
	} {
		if bytes.HasPrefix(data, []byte(f.begin)) {
			return f.tool
		}
	}
	return ""
}

// IsPointer reports whether a file is one that Git LFS keeps elsewhere. Source: Git LFS
// specification, "The Pointer".
func IsPointer(data []byte) bool {
	return bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/"))
}
