// Package installation reads the settings of the installation of Argo CD wherever a
// repository writes them:
//
//   - the ConfigMaps argocd-cm and argocd-cmd-params-cm, and patches of them:
//     strategic merge, JSON patches, and generators of kustomize with their literals,
//     files and environment files;
//   - the values of the chart argo-cd, under any name of it, as files, in
//     Applications, as parameters of Helm, and as Terraform, Ansible and commands give
//     them;
//   - the ArgoCD resource of the operator, and patches of it;
//   - arguments and variables of the ApplicationSet controller.
//
// It is the only place that knows these keys.
package installation
