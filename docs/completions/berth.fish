# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_berth_global_optspecs
    string join \n h/help V/version
end

function __fish_berth_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_berth_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_berth_using_subcommand
    set -l cmd (__fish_berth_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c berth -n "__fish_berth_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_needs_command" -s V -l version -d 'Print version'
complete -c berth -n "__fish_berth_needs_command" -f -a "lint" -d 'Find every mistake in a folder of documents'
complete -c berth -n "__fish_berth_needs_command" -f -a "resolve" -d 'Show the pool and the labels of every node'
complete -c berth -n "__fish_berth_needs_command" -f -a "explain" -d 'Explain where the labels of one node come from'
complete -c berth -n "__fish_berth_needs_command" -f -a "pools" -d 'Show which pool each node is in'
complete -c berth -n "__fish_berth_needs_command" -f -a "plan" -d 'Show what would change on the live nodes'
complete -c berth -n "__fish_berth_needs_command" -f -a "render" -d 'Merge the machine configs of a pool into one rendered config'
complete -c berth -n "__fish_berth_needs_command" -f -a "diff" -d 'Compare two folders or revisions: what changes, what it costs'
complete -c berth -n "__fish_berth_needs_command" -f -a "apply" -d 'Store a folder of documents as a new revision'
complete -c berth -n "__fish_berth_needs_command" -f -a "revisions" -d 'List the revisions with their buckets and tags'
complete -c berth -n "__fish_berth_needs_command" -f -a "show" -d 'Print the documents of a revision'
complete -c berth -n "__fish_berth_needs_command" -f -a "rollback" -d 'Make a new revision with the documents of an earlier one'
complete -c berth -n "__fish_berth_needs_command" -f -a "tag" -d 'Give a revision a tag, or take one away'
complete -c berth -n "__fish_berth_needs_command" -f -a "configdocs" -d 'Stage documents and commit them, as Shipyard does'
complete -c berth -n "__fish_berth_needs_command" -f -a "relabel" -d 'Give nodes the labels that the committed documents declare'
complete -c berth -n "__fish_berth_needs_command" -f -a "actions" -d 'List the actions of a server, newest first'
complete -c berth -n "__fish_berth_needs_command" -f -a "describe" -d 'Show an action with its steps and the outcome of every node'
complete -c berth -n "__fish_berth_needs_command" -f -a "stop" -d 'Stop a running action after the nodes in progress'
complete -c berth -n "__fish_berth_needs_command" -f -a "pause" -d 'Pause a running action after the nodes in progress'
complete -c berth -n "__fish_berth_needs_command" -f -a "resume" -d 'Resume a paused action'
complete -c berth -n "__fish_berth_needs_command" -f -a "retry" -d 'Run an action again for the nodes that failed'
complete -c berth -n "__fish_berth_needs_command" -f -a "site-action" -d 'Record what was done to a whole site'
complete -c berth -n "__fish_berth_needs_command" -f -a "shipyard" -d 'Shipyard\'s own command line, for scripts that have it'
complete -c berth -n "__fish_berth_needs_command" -f -a "drydock" -d 'Drydock\'s own command line, for scripts that have it'
complete -c berth -n "__fish_berth_needs_command" -f -a "promenade" -d 'Promenade\'s node labels, for scripts that have them'
complete -c berth -n "__fish_berth_needs_command" -f -a "rollout" -d 'Plan how nodes move to their rendered config'
complete -c berth -n "__fish_berth_needs_command" -f -a "forecast" -d 'Forecast a rollout: order, reboots, finish time'
complete -c berth -n "__fish_berth_needs_command" -f -a "rehearse" -d 'Simulate a rollout on a copy of the cluster, with failures'
complete -c berth -n "__fish_berth_needs_command" -f -a "machineconfig" -d 'Make the machine configs that carry a pool\'s boot labels'
complete -c berth -n "__fish_berth_needs_command" -f -a "ignition" -d 'Make the Ignition config for a pool or for one machine'
complete -c berth -n "__fish_berth_needs_command" -f -a "cloud-init" -d 'Make cloud-init user data with a machine\'s boot labels'
complete -c berth -n "__fish_berth_needs_command" -f -a "kubeadm" -d 'Make a kubeadm config with a machine\'s boot labels'
complete -c berth -n "__fish_berth_needs_command" -f -a "unit" -d 'Inspect the kubelet\'s systemd unit'
complete -c berth -n "__fish_berth_needs_command" -f -a "ingress" -d 'Check where ingress routers run'
complete -c berth -n "__fish_berth_needs_command" -f -a "egress" -d 'Check which nodes host egress addresses'
complete -c berth -n "__fish_berth_needs_command" -f -a "up" -d 'Try the whole product on simulated machines'
complete -c berth -n "__fish_berth_needs_command" -f -a "serve" -d 'Run the API server and the Ignition server in one process'
complete -c berth -n "__fish_berth_needs_command" -f -a "ignition-server" -d 'Serve Ignition configs to machines'
complete -c berth -n "__fish_berth_needs_command" -f -a "token" -d 'Manage tokens of machines and of API users'
complete -c berth -n "__fish_berth_needs_command" -f -a "pointer" -d 'Print the small Ignition config that a machine boots from'
complete -c berth -n "__fish_berth_needs_command" -f -a "iso" -d 'Embed an Ignition config in a CoreOS live image'
complete -c berth -n "__fish_berth_needs_command" -f -a "ztp" -d 'Make the manifests that a hub installs a cluster from'
complete -c berth -n "__fish_berth_needs_command" -f -a "node-manifest" -d 'Print the Node of a machine that has not booted yet'
complete -c berth -n "__fish_berth_needs_command" -f -a "store" -d 'Check, back up and compact the database'
complete -c berth -n "__fish_berth_needs_command" -f -a "labels" -d 'Check labels against the rules of kubelets'
complete -c berth -n "__fish_berth_needs_command" -f -a "selector" -d 'Convert a label selector, to debug it'
complete -c berth -n "__fish_berth_needs_command" -f -a "install" -d 'Install Berth in a cluster'
complete -c berth -n "__fish_berth_needs_command" -f -a "uninstall" -d 'Remove Berth from a cluster; Nodes stay as they are'
complete -c berth -n "__fish_berth_needs_command" -f -a "doctor" -d 'Check an installation, and say what to do'
complete -c berth -n "__fish_berth_needs_command" -f -a "controller" -d 'Run the controllers'
complete -c berth -n "__fish_berth_needs_command" -f -a "daemon" -d 'Run the node daemon'
complete -c berth -n "__fish_berth_needs_command" -f -a "status" -d 'Show pools, berths, drift and conflicts of a cluster'
complete -c berth -n "__fish_berth_needs_command" -f -a "node" -d 'Show, force or repair what the daemon of one node does'
complete -c berth -n "__fish_berth_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand lint" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand lint" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand lint" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand lint" -l explain -d 'Explain one code and exit' -r
complete -c berth -n "__fish_berth_using_subcommand lint" -l list -d 'List all codes and exit'
complete -c berth -n "__fish_berth_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand resolve" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand resolve" -l node -d 'Only this node; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand resolve" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand resolve" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand resolve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand explain" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand explain" -l node -d 'The node to explain' -r
complete -c berth -n "__fish_berth_using_subcommand explain" -l label -d 'Only this label' -r
complete -c berth -n "__fish_berth_using_subcommand explain" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand explain" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand pools" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand pools" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand pools" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand pools" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand plan" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand plan" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand plan" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand plan" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand plan" -l promenade -d 'Use Promenade\'s strategy: what is not declared is removed, unless its key contains `kubernetes.io`'
complete -c berth -n "__fish_berth_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand render" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand render" -l pool -d 'Only this pool' -r
complete -c berth -n "__fish_berth_using_subcommand render" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand render" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand render" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand render" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand diff" -l pool -d 'Only this pool, and the nodes that are in it before or after' -r
complete -c berth -n "__fish_berth_using_subcommand diff" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand diff" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand diff" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand diff" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand diff" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand diff" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand diff" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand diff" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand diff" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand diff" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand apply" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand apply" -l bucket -d 'The bucket that takes the documents' -r
complete -c berth -n "__fish_berth_using_subcommand apply" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand apply" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand apply" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand apply" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand apply" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand apply" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand apply" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand apply" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand apply" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand apply" -l dry-run -d 'Only show what would change'
complete -c berth -n "__fish_berth_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand revisions" -l tag -d 'Only revisions with this tag; repeatable: with any of them' -r
complete -c berth -n "__fish_berth_using_subcommand revisions" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand revisions" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand revisions" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand revisions" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand revisions" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand revisions" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand revisions" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand revisions" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand revisions" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand revisions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand show" -l bucket -d 'Only the documents of this bucket' -r
complete -c berth -n "__fish_berth_using_subcommand show" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand show" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand show" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand show" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand show" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand show" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand show" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand show" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand show" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand show" -l rendered -d 'After layering and substitution'
complete -c berth -n "__fish_berth_using_subcommand show" -l cleartext -d 'Show secrets as they are'
complete -c berth -n "__fish_berth_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand rollback" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand rollback" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand rollback" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand rollback" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand rollback" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand rollback" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand rollback" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand rollback" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand rollback" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand rollback" -l dry-run -d 'Only show what would change'
complete -c berth -n "__fish_berth_using_subcommand rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand tag" -l data -d 'What to keep with the tag: a mapping in YAML or JSON' -r
complete -c berth -n "__fish_berth_using_subcommand tag" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand tag" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand tag" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand tag" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand tag" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand tag" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand tag" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand tag" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand tag" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand tag" -l delete -d 'Take the tag away'
complete -c berth -n "__fish_berth_using_subcommand tag" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -f -a "load" -d 'Load a collection into the buffer'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -f -a "status" -d 'Show how every collection stands in two versions'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -f -a "commit" -d 'Validate the buffer and make it the committed version'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -f -a "show" -d 'Print the documents of a collection'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -f -a "versions" -d 'List the versions of the site with their revisions'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and not __fish_seen_subcommand_from load status commit show versions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l append -d 'Keep the other collections of the buffer; this one must not be in it yet'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -l replace -d 'Empty the buffer first'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from load" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l versions -d 'Two of buffer, committed, `last_site_action` and `successful_site_action`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l force -d 'Commit also what has errors'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -l dry-run -d 'Only validate'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from commit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l version -d 'buffer, committed, `last_site_action` or `successful_site_action`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -l cleartext -d 'Show secrets as they are'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from versions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from help" -f -a "load" -d 'Load a collection into the buffer'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show how every collection stands in two versions'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from help" -f -a "commit" -d 'Validate the buffer and make it the committed version'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the documents of a collection'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from help" -f -a "versions" -d 'List the versions of the site with their revisions'
complete -c berth -n "__fish_berth_using_subcommand configdocs; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand relabel" -l filter -d 'Nodes that meet a criterion; repeatable: all of them. Of nodes that are named, too, those that meet it' -r
complete -c berth -n "__fish_berth_using_subcommand relabel" -l filter-file -d 'Nodes that a Drydock node filter selects, in YAML or JSON' -r -F
complete -c berth -n "__fish_berth_using_subcommand relabel" -l strategy -d 'What happens to labels that are not declared' -r -f -a "mirror\t'They are removed, except those of protected domains'
owned\t'Those that Berth has set are removed'
promenade\t'What Promenade did: all are removed whose key has no kubernetes.io in it'"
complete -c berth -n "__fish_berth_using_subcommand relabel" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand relabel" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand relabel" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand relabel" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand relabel" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand relabel" -l all -d 'All nodes of the committed documents'
complete -c berth -n "__fish_berth_using_subcommand relabel" -l dry-run -d 'Only say what would change'
complete -c berth -n "__fish_berth_using_subcommand relabel" -l wait -d 'Show every outcome as it comes, and end with the action'
complete -c berth -n "__fish_berth_using_subcommand relabel" -l allow-mass-removal -d 'Let the action take away more than a tenth of all owned labels'
complete -c berth -n "__fish_berth_using_subcommand relabel" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand actions" -l limit -d 'How many' -r
complete -c berth -n "__fish_berth_using_subcommand actions" -l lifecycle -d 'Only those that stand so; several with commas between them' -r -f -a "Pending\t'It has not begun'
Processing\t'Nodes are relabelled'
Paused\t'It waits until somebody lets it go on'
Complete\t'All nodes are as declared'
Failed\t'Some are not'"
complete -c berth -n "__fish_berth_using_subcommand actions" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand actions" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand actions" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand actions" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand actions" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand actions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand describe" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand describe" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand describe" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand describe" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand describe" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand describe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand stop" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand stop" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand stop" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand stop" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand stop" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand pause" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand pause" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand pause" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand pause" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand pause" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand pause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand resume" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand resume" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand resume" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand resume" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand resume" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand retry" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand retry" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand retry" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand retry" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand retry" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand retry" -l wait -d 'Show every outcome as it comes, and end with the action'
complete -c berth -n "__fish_berth_using_subcommand retry" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand site-action; and not __fish_seen_subcommand_from record help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand site-action; and not __fish_seen_subcommand_from record help" -f -a "record" -d 'Say that a site action took place at a revision'
complete -c berth -n "__fish_berth_using_subcommand site-action; and not __fish_seen_subcommand_from record help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l revision -d 'A number, `committed`, or a tag' -r
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l name -d 'What was done' -r
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -l failure -d 'It failed'
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from help" -f -a "record" -d 'Say that a site action took place at a revision'
complete -c berth -n "__fish_berth_using_subcommand site-action; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "create" -d 'Start an action, or load documents'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "commit" -d 'Validate and commit the buffer'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "get" -d 'Show actions, documents, workflows or statuses'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "describe" -d 'Show an action, a step, a validation, a workflow or a note'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "logs" -d 'Show what a step has written'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "stop" -d 'End a running action'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "pause" -d 'Hold a running action'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "unpause" -d 'Let a paused action go on'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and not __fish_seen_subcommand_from create commit get describe logs stop pause unpause help" -f -a "help" -d 'Say what can be done'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -f -a "action" -d 'Start an action'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from create" -f -a "configdocs" -d 'Load documents into a collection of the buffer'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from commit" -f -a "configdocs" -d 'Validate and commit the buffer'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -f -a "actions" -d 'List the actions'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -f -a "configdocs" -d 'Show how collections stand, or the documents of one'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -f -a "renderedconfigdocs" -d 'Show the documents after layering and substitution'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -f -a "workflows" -d 'List the runs of actions'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from get" -f -a "site-statuses" -d 'Show how the site\'s machines stand'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l action -d 'The action of a step or a validation that is named alone' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from describe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l action -d 'The action of a step or a validation that is named alone' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l try -d 'Which try' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from logs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l action -d 'The action of a step or a validation that is named alone' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l action -d 'The action of a step or a validation that is named alone' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l action -d 'The action of a step or a validation that is named alone' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from unpause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l context-marker -d 'A UUID that goes with the request into the server\'s log and the action' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l output-format -d 'Form of the output' -r -f -a "cli\t'Tables'
raw\t'The answer as the server sent it'
format\t'The answer, indented'"
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l verbosity -d 'How many notes are shown, from 0 to 5' -r
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand shipyard; and __fish_seen_subcommand_from help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -f -a "task" -d 'Start a task, or look at tasks'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -f -a "node" -d 'Look at nodes'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -f -a "design" -d 'Validate a design'
complete -c berth -n "__fish_berth_using_subcommand drydock; and not __fish_seen_subcommand_from task node design help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -f -a "create" -d 'Start a task that relabels nodes'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -f -a "list" -d 'List tasks with their subtasks'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -f -a "show" -d 'Show one task, or one of its subtasks'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -f -a "resume" -d 'Let a task go on that waits for a person'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -f -a "delete" -d 'Remove tasks that ended long ago'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from task" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -f -a "list" -d 'List the declared nodes, and what the cluster shows of them'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from node" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -f -a "validate" -d 'Validate the documents of a revision, as Shipyard does at a commit'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from design" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from help" -f -a "task" -d 'Start a task, or look at tasks'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from help" -f -a "node" -d 'Look at nodes'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from help" -f -a "design" -d 'Validate a design'
complete -c berth -n "__fish_berth_using_subcommand drydock; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -f -a "node-labels" -d 'The labels of one node'
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -f -a "validate-design" -d 'Validate the documents of a revision, as Shipyard does at a commit'
complete -c berth -n "__fish_berth_using_subcommand promenade; and not __fish_seen_subcommand_from node-labels validate-design help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -f -a "show" -d 'Print the labels of a node, declared and live'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -f -a "update" -d 'Give a node exactly these labels, by the server\'s strategy'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from node-labels" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -s h -l design-href -d 'The design; the committed revision unless given' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-auth-token -d 'A token that tells the server who asks' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-auth-url -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-username -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-password -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-project-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-project-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l os-user-domain-name -d 'Not needed' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l server -d 'Address of a server, such as `https://berth.example.com`' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l server-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l token-file -d 'File with the token that tells the server who asks; without it `BERTH_TOKEN` holds the token' -r -F
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l token -d 'The token itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from validate-design" -l no-debug -d 'Not needed'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from help" -f -a "node-labels" -d 'The labels of one node'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from help" -f -a "validate-design" -d 'Validate the documents of a revision, as Shipyard does at a commit'
complete -c berth -n "__fish_berth_using_subcommand promenade; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand rollout; and not __fish_seen_subcommand_from plan help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand rollout; and not __fish_seen_subcommand_from plan help" -f -a "plan" -d 'Show which nodes would move next, pool by pool'
complete -c berth -n "__fish_berth_using_subcommand rollout; and not __fish_seen_subcommand_from plan help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -l pool -d 'Only this pool' -r
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Show which nodes would move next, pool by pool'
complete -c berth -n "__fish_berth_using_subcommand rollout; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand forecast" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand forecast" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand forecast" -l reboot-minutes -d 'Minutes that a node is away for one reboot' -r
complete -c berth -n "__fish_berth_using_subcommand forecast" -l drain-minutes -d 'Minutes to drain a node before it reboots' -r
complete -c berth -n "__fish_berth_using_subcommand forecast" -l window -d 'The maintenance window, from the start of the change: 4h, 90m, 1h30m' -r
complete -c berth -n "__fish_berth_using_subcommand forecast" -l svg -d 'Draw when each node is out as a chart over time into this file' -r -F
complete -c berth -n "__fish_berth_using_subcommand forecast" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand forecast" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand forecast" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand forecast" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand rehearse" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l reboot-minutes -d 'Minutes that a node is away for one reboot' -r
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l drain-minutes -d 'Minutes to drain a node before it reboots' -r
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l window -d 'The maintenance window, from the start of the change: 4h, 90m, 1h30m' -r
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l svg -d 'Draw when each node is out as a chart over time into this file' -r -F
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand rehearse" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l scenario -d 'What goes wrong, and when' -r -F
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l fail -d 'Let a node fail: NODE does not come back from its reboot, or NODE=stuck-drain, NODE=refuses, NODE=slow-boot:40m; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand rehearse" -l journal -d 'Print everything that happens, step by step'
complete -c berth -n "__fish_berth_using_subcommand rehearse" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l pool -d 'The pool' -r
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l way -d 'How the labels reach the kubelet' -r -f -a "auto\t'By what is known: the platform\'s hook if the unit has it, else the generator if there is the executable, else a drop-in'
generator\t'A systemd generator on the machine adds one flag to whatever unit is there'
kubelet-env\t'OpenShift\'s hook, `CUSTOM_KUBELET_LABELS` in /etc/kubernetes/kubelet-env'
default-kubelet\t'kubeadm\'s hook, `KUBELET_EXTRA_ARGS` in /etc/default/kubelet'
dropin\t'A drop-in for a unit that is known'"
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l node-binary -d 'The static executable for nodes; without it, `berth-node` beside `berth` is used' -r -F
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l unit -d 'The kubelet\'s unit on the machines; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l dropin -d 'A drop-in of that unit, or a folder of drop-ins; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l carry -d 'Labels that the platform itself puts into OpenShift\'s hook, `key=value,…`; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l spec -d 'Spec version of the Ignition configs inside' -r
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l no-policy -d 'Leave out the `MachineConfiguration` with the policies; without them OpenShift reboots for these files'
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -l disruption-policy -d 'Print the `MachineConfiguration` with the policies alone'
complete -c berth -n "__fish_berth_using_subcommand machineconfig" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ignition" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition" -l pool -d 'For every machine of this pool' -r
complete -c berth -n "__fish_berth_using_subcommand ignition" -l node -d 'For this machine' -r
complete -c berth -n "__fish_berth_using_subcommand ignition" -l spec -d 'Spec version of the config: 3.1.0 to 3.5.0' -r
complete -c berth -n "__fish_berth_using_subcommand ignition" -l way -d 'How the labels reach the kubelet' -r -f -a "auto\t'By what is known: the platform\'s hook if the unit has it, else the generator if there is the executable, else a drop-in'
generator\t'A systemd generator on the machine adds one flag to whatever unit is there'
kubelet-env\t'OpenShift\'s hook, `CUSTOM_KUBELET_LABELS` in /etc/kubernetes/kubelet-env'
default-kubelet\t'kubeadm\'s hook, `KUBELET_EXTRA_ARGS` in /etc/default/kubelet'
dropin\t'A drop-in for a unit that is known'"
complete -c berth -n "__fish_berth_using_subcommand ignition" -l node-binary -d 'The static executable for nodes; without it, `berth-node` beside `berth` is used' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition" -l unit -d 'The kubelet\'s unit on the machines; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition" -l dropin -d 'A drop-in of that unit, or a folder of drop-ins; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition" -l carry -d 'Labels that the platform itself puts into OpenShift\'s hook, `key=value,…`; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand ignition" -l pointer -d 'Only say where the config is: `https://HOST:22623`, or the whole URL' -r
complete -c berth -n "__fish_berth_using_subcommand ignition" -l ca -d 'File with the certificates, in PEM, by which the machine knows the server' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition" -l token -d 'The token that the machine shows; other users of this computer can see arguments' -r
complete -c berth -n "__fish_berth_using_subcommand ignition" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ignition" -s o -l output -d 'Output format; Ignition itself reads JSON' -r -f -a "yaml\t'YAML'
json\t'JSON'"
complete -c berth -n "__fish_berth_using_subcommand ignition" -l token-stdin -d 'Read the token from standard input'
complete -c berth -n "__fish_berth_using_subcommand ignition" -l with-labels -d 'Put the files with the labels into the pointer, for a server that does not know Berth'
complete -c berth -n "__fish_berth_using_subcommand ignition" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l node -d 'The machine' -r
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l way -d 'How the labels reach the kubelet' -r -f -a "auto\t'By what is known: the platform\'s hook if the unit has it, else the generator if there is the executable, else a drop-in'
generator\t'A systemd generator on the machine adds one flag to whatever unit is there'
kubelet-env\t'OpenShift\'s hook, `CUSTOM_KUBELET_LABELS` in /etc/kubernetes/kubelet-env'
default-kubelet\t'kubeadm\'s hook, `KUBELET_EXTRA_ARGS` in /etc/default/kubelet'
dropin\t'A drop-in for a unit that is known'"
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l node-binary -d 'The static executable for nodes; without it, `berth-node` beside `berth` is used' -r -F
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l unit -d 'The kubelet\'s unit on the machines; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l dropin -d 'A drop-in of that unit, or a folder of drop-ins; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l carry -d 'Labels that the platform itself puts into OpenShift\'s hook, `key=value,…`; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -s o -l output -d 'Output format; cloud-init itself reads YAML' -r -f -a "yaml\t'YAML'
json\t'JSON'"
complete -c berth -n "__fish_berth_using_subcommand cloud-init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand kubeadm" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand kubeadm" -l node -d 'The machine' -r
complete -c berth -n "__fish_berth_using_subcommand kubeadm" -s o -l output -d 'Output format; kubeadm reads both' -r -f -a "yaml\t'YAML'
json\t'JSON'"
complete -c berth -n "__fish_berth_using_subcommand kubeadm" -l init -d 'For the machine that makes the cluster (`InitConfiguration`), not one that joins it'
complete -c berth -n "__fish_berth_using_subcommand kubeadm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand unit; and not __fish_seen_subcommand_from kubelet help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand unit; and not __fish_seen_subcommand_from kubelet help" -f -a "kubelet" -d 'Make the drop-in that gives a kubelet its labels, or show its command'
complete -c berth -n "__fish_berth_using_subcommand unit; and not __fish_seen_subcommand_from kubelet help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from kubelet" -l unit -d 'The unit file; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from kubelet" -l dropin -d 'A drop-in, or a folder of drop-ins; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from kubelet" -l labels -d 'Labels for the kubelet, `key=value,…`; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from kubelet" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from kubelet" -s o -l output -d 'Output format' -r -f -a "conf\t'The drop-in, to be put into kubelet.service.d'
json\t'For programs; the fields are stable'"
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from kubelet" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from help" -f -a "kubelet" -d 'Make the drop-in that gives a kubelet its labels, or show its command'
complete -c berth -n "__fish_berth_using_subcommand unit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand ingress; and not __fish_seen_subcommand_from check rewrite shard help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand ingress; and not __fish_seen_subcommand_from check rewrite shard help" -f -a "check" -d 'Check where the routers of each ingress controller can run'
complete -c berth -n "__fish_berth_using_subcommand ingress; and not __fish_seen_subcommand_from check rewrite shard help" -f -a "rewrite" -d 'Say a selector that the operator refuses in a way that it takes'
complete -c berth -n "__fish_berth_using_subcommand ingress; and not __fish_seen_subcommand_from check rewrite shard help" -f -a "shard" -d 'Print a shard whose routers run on the nodes of a remote site'
complete -c berth -n "__fish_berth_using_subcommand ingress; and not __fish_seen_subcommand_from check rewrite shard help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from check" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from check" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from check" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from check" -l haproxy -d 'Compare this `HAProxy` configuration, too: its servers with the nodes that may run routers, and its health checks' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from check" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from rewrite" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from rewrite" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from rewrite" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from rewrite" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from rewrite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -l remote -d 'The remote site, as the Cluster document names it' -r
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -l domain -d 'The domain of the shard\'s routes' -r
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -l haproxy -d 'Write the `HAProxy` configuration to this file; `-` prints it instead of the documents' -r -F
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from shard" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check where the routers of each ingress controller can run'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from help" -f -a "rewrite" -d 'Say a selector that the operator refuses in a way that it takes'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from help" -f -a "shard" -d 'Print a shard whose routers run on the nodes of a remote site'
complete -c berth -n "__fish_berth_using_subcommand ingress; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand egress; and not __fish_seen_subcommand_from plan verify help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand egress; and not __fish_seen_subcommand_from plan verify help" -f -a "plan" -d 'Plan which node hosts each egress address'
complete -c berth -n "__fish_berth_using_subcommand egress; and not __fish_seen_subcommand_from plan verify help" -f -a "verify" -d 'Compare the plan with what the cluster does, before and after a relabelling'
complete -c berth -n "__fish_berth_using_subcommand egress; and not __fish_seen_subcommand_from plan verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from plan" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from plan" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from plan" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from plan" -l write -d 'Print the label rule for the smallest set of nodes instead of the plan, or write it to a file' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from plan" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -l nodes -d 'Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -l observed -d '`EgressIP` objects and router pods, as `kubectl get -o yaml` prints them, instead of a cluster; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -l relabel -d 'Say what this label would move: NODE=KEY=VALUE sets it, NODE=KEY- removes it; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Plan which node hosts each egress address'
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Compare the plan with what the cluster does, before and after a relabelling'
complete -c berth -n "__fish_berth_using_subcommand egress; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand up" -s f -l filename -l site -d 'File or folder with the site\'s documents; repeatable. Without it, the example that is inside the program' -r -F
complete -c berth -n "__fish_berth_using_subcommand up" -l machines -d 'How many machines boot: fewer than the site has, or more, which get Berths in the pool worker' -r
complete -c berth -n "__fish_berth_using_subcommand up" -l mode -d 'What the controllers do; with `full` the real node daemons run on the machines, with hosts in memory' -r -f -a "labels\t'Labels, Berths and pre-registration; the rest is left to the Machine Config Operator'
full\t'Rendering, rollout, drains and clean-up of rendered configs too, where no Machine Config Operator does them'"
complete -c berth -n "__fish_berth_using_subcommand up" -l scenario -d 'Play a scenario on the site, print its transcript and end' -r -F
complete -c berth -n "__fish_berth_using_subcommand up" -l port -d 'Port of the embedded API on 127.0.0.1; 0 takes any free one' -r
complete -c berth -n "__fish_berth_using_subcommand up" -l data-dir -d 'Folder that keeps the cluster\'s objects; without it they are gone at the end' -r -F
complete -c berth -n "__fish_berth_using_subcommand up" -l speed -d 'How many seconds pass for the machines in one second' -r
complete -c berth -n "__fish_berth_using_subcommand up" -l without-berth -d 'Also count what the same machines cost when they are labelled after they joined; a scenario is played without Berth'
complete -c berth -n "__fish_berth_using_subcommand up" -l plain -d 'Print lines instead of a picture, also on a terminal'
complete -c berth -n "__fish_berth_using_subcommand up" -l once -d 'End when all machines are in their places'
complete -c berth -n "__fish_berth_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand serve" -l listen -d 'Address and port of the API; port 0 takes any free one' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l auth -d 'How callers of the API are known: none, tokens FILE, kubernetes, or keystone URL' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l keystone-role -d 'What a role of Keystone may do here: viewer, operator or admin; can be repeated' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l keystone-ca -d 'Certificates of the authorities that sign for Keystone, in PEM; those of the system unless given' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l design-host -d 'Another name of this server in the design references of tasks, with or without a port; can be repeated' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l deckhand -d 'Address of another Deckhand whose designs tasks may name; can be repeated' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l deckhand-ca -d 'Certificates of the authorities that sign for those Deckhands, in PEM; those of the system unless given' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l strategy -d 'What happens to labels that are not declared, where a request does not say it' -r -f -a "mirror\t'They are removed, except those of protected domains'
owned\t'Those that Berth has set are removed'
promenade\t'What Promenade did: all are removed whose key has no kubernetes.io in it'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l protect -d 'Domain of labels that other controllers own, which mirror leaves alone; repeatable, beside those that are known' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l deployment-configuration -d 'On which sites an action needs Shipyard\'s document deployment-configuration' -r -f -a "airship\t'Those that Airship deploys: with any document of Shipyard, Armada or Promenade'
always\t'All, as Shipyard has it'
never\t'None'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l concurrency -d 'How many nodes are relabelled at a time' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l lease-duration -d 'How long a server without a sign of life keeps its nodes before another one on the database takes them over; 2s or more' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l identity -d 'Name of this server among those on one database; the host\'s name and the address unless given' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l admission-listen -d 'Address and port of the admission webhook of the cluster, which the controllers of `berth install` answer too' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l admission-cert -d 'The webhook\'s certificate, in PEM; read again when it changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l admission-key -d 'The private key of the webhook\'s certificate, in PEM' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l admission-client-ca -d 'Roots of client certificates, in PEM; reviews are then taken only from API servers that show one' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -s f -l filename -l site -d 'File or folder with the site\'s documents; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l cluster-kubeconfig -d 'Kubeconfig of the cluster; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l cluster-context -d 'The context of that kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l ignition-listen -d 'Address and port for TLS; port 0 takes any free one' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l tls-cert -d 'The server\'s certificate and those that lead to its root, in PEM; read again when it changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l tls-key -d 'The private key of the certificate, in PEM' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l plain-listen -d 'Address and port without TLS; whoever sees the traffic sees the secrets in the configs' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l tokens -d 'File with the tokens, as `berth token create` writes it' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l kubeconfig -d 'Kubeconfig with which the machines\' kubelets ask for their certificate, added to every config' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l kubelet-ca -d 'CA bundle that kubelets read from /etc/kubernetes/kubelet-ca.crt, added to every config' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l announce-to -d 'Cluster that is told when a machine fetches its config, so that its Node is there before it' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l max-connections -d 'Connections at a time [default: 1024]' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l max-connections-per-address -d 'Connections at a time from one address, at most half of all; more where clients share one, as behind a proxy [default: 128]' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l max-streams -d 'Event streams at a time, of which one address may have a quarter [default: 256]' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l max-body-memory -d 'Memory for request bodies that have not been answered yet, in MiB; one address may use half of it [default: 256, the webhook 32]' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l log-format -d 'Form of the log' -r -f -a "plain\t'For people'
json\t'One JSON object per line'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l log-level -d 'How much is logged' -r -f -a "error\t'What must be repaired'
warn\t'What should be looked at, too'
info\t'Every config served, too'
debug\t'Every step, too'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l plain-http -d 'Serve the API without TLS although --listen can be reached from elsewhere, or there is a certificate'
complete -c berth -n "__fish_berth_using_subcommand serve" -l no-cluster -d 'Serve documents alone, even where a cluster could be found'
complete -c berth -n "__fish_berth_using_subcommand serve" -l no-site-action-needed -d 'Take actions also before any revision took part in a site action'
complete -c berth -n "__fish_berth_using_subcommand serve" -l all-or-nothing -d 'Refuse actions while the committed documents have any error, also one that does not touch their nodes'
complete -c berth -n "__fish_berth_using_subcommand serve" -l any-filter-label -d 'Let one of several labels in a node filter be enough, as Drydock\'s code does; its documentation asks for all'
complete -c berth -n "__fish_berth_using_subcommand serve" -l from-cluster -d 'Serve the rendered configs of a cluster, to machines in the pools of their Berths'
complete -c berth -n "__fish_berth_using_subcommand serve" -l allow-anonymous -d 'Give configs, and the secrets in them, to whoever asks'
complete -c berth -n "__fish_berth_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -s f -l filename -l site -d 'File or folder with the site\'s documents; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l ignition-listen -d 'Address and port for TLS; port 0 takes any free one' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l tls-cert -d 'The server\'s certificate and those that lead to its root, in PEM; read again when it changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l tls-key -d 'The private key of the certificate, in PEM' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l plain-listen -d 'Address and port without TLS; whoever sees the traffic sees the secrets in the configs' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l tokens -d 'File with the tokens, as `berth token create` writes it' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l kubeconfig -d 'Kubeconfig with which the machines\' kubelets ask for their certificate, added to every config' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l kubelet-ca -d 'CA bundle that kubelets read from /etc/kubernetes/kubelet-ca.crt, added to every config' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l announce-to -d 'Cluster that is told when a machine fetches its config, so that its Node is there before it' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l max-connections -d 'Connections at a time [default: 1024]' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l max-connections-per-address -d 'Connections at a time from one address, at most half of all; more where clients share one, as behind a proxy [default: 128]' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l max-streams -d 'Event streams at a time, of which one address may have a quarter [default: 256]' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l max-body-memory -d 'Memory for request bodies that have not been answered yet, in MiB; one address may use half of it [default: 256, the webhook 32]' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l log-format -d 'Form of the log' -r -f -a "plain\t'For people'
json\t'One JSON object per line'"
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l log-level -d 'How much is logged' -r -f -a "error\t'What must be repaired'
warn\t'What should be looked at, too'
info\t'Every config served, too'
debug\t'Every step, too'"
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l cluster-kubeconfig -d 'Kubeconfig of the cluster; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l cluster-context -d 'The context of that kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l from-cluster -d 'Serve the rendered configs of a cluster, to machines in the pools of their Berths'
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l allow-anonymous -d 'Give configs, and the secrets in them, to whoever asks'
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "create" -d 'Make a token'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "list" -d 'List tokens: what each opens, until when, and whether it still does'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "revoke" -d 'Take a token back: from now on it opens nothing'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l pool -d 'Opens the config of this pool, and those of the nodes in it' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l node -d 'Opens the config of this node' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l role -d 'Lets its holder use the API of `berth serve --auth tokens`, and opens no config' -r -f -a "viewer\t'Read everything but secrets'
operator\t'Load and commit documents and relabel nodes, too'
admin\t'See secrets and remove revisions, tags and tasks, too'"
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l bootstrap -d 'Lets the kubelet of this node join the cluster' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l expires -d 'How long the token is good for: 24h, 7d; when left out 24h with --bootstrap, else forever' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l comment -d 'A word for people, shown in the list; the API\'s records name the holder by it' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l token-file -d 'File that holds the tokens, hashed; a running server notices changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l any -d 'Opens every config'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l single-use -d 'The first config fetched with it is the last'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from list" -l token-file -d 'File that holds the tokens, hashed; a running server notices changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from list" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from revoke" -l token-file -d 'File that holds the tokens, hashed; a running server notices changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "create" -d 'Make a token'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "list" -d 'List tokens: what each opens, until when, and whether it still does'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'Take a token back: from now on it opens nothing'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand pointer" -l url -d 'Where the config is: `https://HOST:22623/node/NAME` or `https://HOST:22623/config/POOL`' -r
complete -c berth -n "__fish_berth_using_subcommand pointer" -l ca -d 'File with the certificates, in PEM, by which the machine knows the server' -r -F
complete -c berth -n "__fish_berth_using_subcommand pointer" -l token -d 'The token that the machine shows' -r
complete -c berth -n "__fish_berth_using_subcommand pointer" -l spec -d 'Spec version of the config, for machines that need a certain one' -r
complete -c berth -n "__fish_berth_using_subcommand pointer" -l token-stdin -d 'Read the token from standard input'
complete -c berth -n "__fish_berth_using_subcommand pointer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand iso; and not __fish_seen_subcommand_from embed show remove restore help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand iso; and not __fish_seen_subcommand_from embed show remove restore help" -f -a "embed" -d 'Put an Ignition config into a live image'
complete -c berth -n "__fish_berth_using_subcommand iso; and not __fish_seen_subcommand_from embed show remove restore help" -f -a "show" -d 'Print the config that is in a live image'
complete -c berth -n "__fish_berth_using_subcommand iso; and not __fish_seen_subcommand_from embed show remove restore help" -f -a "remove" -d 'Take the config out of a live image'
complete -c berth -n "__fish_berth_using_subcommand iso; and not __fish_seen_subcommand_from embed show remove restore help" -f -a "restore" -d 'Undo the last change in place'
complete -c berth -n "__fish_berth_using_subcommand iso; and not __fish_seen_subcommand_from embed show remove restore help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l ignition -d 'File with the config; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l url -d 'Address to fetch the config from, such as that of a Machine Config Server' -r
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l url-ca -d 'Certificates in PEM that the server\'s must lead to, beside those of the system' -r -F
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -s o -l output -d 'Write a new image instead of changing this one; it must not exist yet' -r -F
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l format -d 'Format of the closing message' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l insecure-url -d 'Take whatever certificate the server shows: whoever is in between can replace the config'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l force -d 'Replace a config that is there already, or contents that cannot be read'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -l no-backup -d 'Keep no copy of what was in the image before'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from embed" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from show" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from remove" -s o -l output -d 'Write a new image instead of changing this one; it must not exist yet' -r -F
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from remove" -l format -d 'Format of the closing message' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from remove" -l force -d 'Empty the area even if what it holds cannot be read'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from remove" -l no-backup -d 'Keep no copy of what was in the image before'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from restore" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from help" -f -a "embed" -d 'Put an Ignition config into a live image'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the config that is in a live image'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take the config out of a live image'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Undo the last change in place'
complete -c berth -n "__fish_berth_using_subcommand iso; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l as -d 'Which objects' -r -f -a "raw\t'Every object on its own'
clusterinstance\t'A `ClusterInstance`, from which the hub makes the objects'"
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l release -d 'The release that is installed, such as 4.18; without it, the Cluster\'s' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l boot-labels -d 'When overrides carry the boot labels' -r -f -a "auto\t'Where the kubelet\'s unit reads them, by role, platform and release'
always\t'On all machines'
never\t'On none: labels come when a node is Ready'"
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l pull-secret -d 'The Secret with the pull secret, in the cluster\'s namespace of the hub' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l image-set -d 'The `ClusterImageSet` of the hub; without it, `openshift-RELEASE`' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l release-image -d 'The release image of the `ClusterImageSet`; without it, the first patch release' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l hub-release -d 'The release of Advanced Cluster Management on the hub, such as 2.16' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l ssh-key -d 'The public key with which people log in to the machines' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -s o -l output -d 'Where the manifests go: a folder, with a file for each object, or `-` for one stream' -r -F
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l format -d 'Format of the stream' -r -f -a "yaml\t'YAML'
json\t'JSON'"
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -l unsupported -d 'Let remote workers in at day 0 by validations that do not block; not supported'
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -f -a "check" -d 'Find what the hub would refuse in manifests that you have'
complete -c berth -n "__fish_berth_using_subcommand ztp; and not __fish_seen_subcommand_from check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from check" -l against -d 'What the hub has: an export from it, or the folder that was applied last; changes that it refuses are found; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from check" -s f -l filename -d 'The site that the manifests are for: labels that it does not declare are found too; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from check" -l release -d 'The release that is installed, such as 4.18' -r
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from check" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from check" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from help" -f -a "check" -d 'Find what the hub would refuse in manifests that you have'
complete -c berth -n "__fish_berth_using_subcommand ztp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand node-manifest" -s f -l filename -d 'File or folder with documents; `-` is standard input; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand node-manifest" -l node -d 'The machine' -r
complete -c berth -n "__fish_berth_using_subcommand node-manifest" -l install -d 'Who installs the machine; without it, the hub if the documents know its management controller' -r -f -a "user-provisioned\t'You do'
assisted\t'Assisted Service on a hub does'"
complete -c berth -n "__fish_berth_using_subcommand node-manifest" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand node-manifest" -s o -l output -d 'Output format' -r -f -a "yaml\t'YAML'
json\t'JSON'"
complete -c berth -n "__fish_berth_using_subcommand node-manifest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand store; and not __fish_seen_subcommand_from check backup compact help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand store; and not __fish_seen_subcommand_from check backup compact help" -f -a "check" -d 'Look through everything that is stored and say what is wrong'
complete -c berth -n "__fish_berth_using_subcommand store; and not __fish_seen_subcommand_from check backup compact help" -f -a "backup" -d 'Write a copy of the database to a new file'
complete -c berth -n "__fish_berth_using_subcommand store; and not __fish_seen_subcommand_from check backup compact help" -f -a "compact" -d 'Give unused space of the database back; no revision is lost'
complete -c berth -n "__fish_berth_using_subcommand store; and not __fish_seen_subcommand_from check backup compact help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from check" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from check" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from check" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from check" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from check" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from backup" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from backup" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from backup" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from backup" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from backup" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from compact" -l database -d 'Database: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from compact" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from compact" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from compact" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from compact" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from compact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "check" -d 'Look through everything that is stored and say what is wrong'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "backup" -d 'Write a copy of the database to a new file'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "compact" -d 'Give unused space of the database back; no revision is lost'
complete -c berth -n "__fish_berth_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand labels; and not __fish_seen_subcommand_from check help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand labels; and not __fish_seen_subcommand_from check help" -f -a "check" -d 'Check labels: are they legal, and who may set them'
complete -c berth -n "__fish_berth_using_subcommand labels; and not __fish_seen_subcommand_from check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from check" -l list -d 'A whole `--node-labels` value, read as the kubelet reads it' -r
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from check" -l as -d 'Who sets the labels' -r -f -a "flag\t'The kubelet\'s `--node-labels` flag'
create\t'A kubelet that creates its Node'
update\t'A kubelet that updates its Node'
controller\t'A controller with rights on Nodes'"
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from check" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from check" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check labels: are they legal, and who may set them'
complete -c berth -n "__fish_berth_using_subcommand labels; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand selector" -s f -l filename -d 'File with a selector, a MachineConfigPool or an `IngressController`; `-` is standard input' -r -F
complete -c berth -n "__fish_berth_using_subcommand selector" -l choose -d 'Value to take where `In` allows several; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand selector" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand selector" -l to-map -d 'The plain map that means the same'
complete -c berth -n "__fish_berth_using_subcommand selector" -l invert -d 'The labels that satisfy the selector'
complete -c berth -n "__fish_berth_using_subcommand selector" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand install" -l image -d 'Image with the berth executable' -r
complete -c berth -n "__fish_berth_using_subcommand install" -l mode -d 'Which controllers are installed' -r -f -a "labels\t'Labels, Berths and pre-registration; the rest is left to the Machine Config Operator'
full\t'Rendering, rollout and the node daemon too, for clusters without that operator'"
complete -c berth -n "__fish_berth_using_subcommand install" -l namespace -d 'Namespace of the controllers' -r
complete -c berth -n "__fish_berth_using_subcommand install" -l replicas -d 'How many controllers; one of them leads' -r
complete -c berth -n "__fish_berth_using_subcommand install" -l admission -d 'How Nodes are checked when they come in' -r -f -a "auto\t'By policies where the API server has them, else by the webhook alone'
policy\t'By policies, which the controllers make from rules and pools, and by the webhook for what policies cannot do'
webhook\t'By the webhook of the controllers alone'
off\t'Not at all, nor are objects'"
complete -c berth -n "__fish_berth_using_subcommand install" -l admission-failure -d 'What happens to a Node or an object that cannot be checked' -r -f -a "ignore\t'It comes in all the same'
fail\t'It is kept out; Nodes that policies check are not, because these need nobody to answer'"
complete -c berth -n "__fish_berth_using_subcommand install" -l admission-client-ca -d 'Roots of client certificates, in PEM; the webhook then answers only API servers that show one' -r -F
complete -c berth -n "__fish_berth_using_subcommand install" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; without it OpenShift\'s where the pools are OpenShift\'s' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand install" -l database-secret -d 'Secret in the namespace whose key `address` names the database with the committed documents' -r
complete -c berth -n "__fish_berth_using_subcommand install" -l drift -d 'What the node daemon does about things on its host that are not as the config says' -r -f -a "report\t'They are reported, and left alone'
repair\t'They are put right'
degrade\t'The node is Degraded until somebody puts them right'"
complete -c berth -n "__fish_berth_using_subcommand install" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand install" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand install" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand install" -l approve -d 'Let the controllers decide about certificate requests of kubelets whose names are reserved'
complete -c berth -n "__fish_berth_using_subcommand install" -l no-daemon -d 'Leave the node daemon out of full mode, where it runs on the hosts themselves'
complete -c berth -n "__fish_berth_using_subcommand install" -l dry-run -d 'Print what would be applied, and ask no cluster'
complete -c berth -n "__fish_berth_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand uninstall" -l namespace -d 'Namespace of the controllers' -r
complete -c berth -n "__fish_berth_using_subcommand uninstall" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand uninstall" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand uninstall" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand uninstall" -l keep-definitions -d 'Leave the definitions, and with them Berths, rules and pools'
complete -c berth -n "__fish_berth_using_subcommand uninstall" -l pools -d 'Remove pools and machine configs too, if their definitions are Berth\'s'
complete -c berth -n "__fish_berth_using_subcommand uninstall" -l dry-run -d 'Say what would be removed'
complete -c berth -n "__fish_berth_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand doctor" -l namespace -d 'Namespace of the controllers' -r
complete -c berth -n "__fish_berth_using_subcommand doctor" -l mode -d 'Which controllers should run' -r -f -a "labels\t'Labels, Berths and pre-registration; the rest is left to the Machine Config Operator'
full\t'Rendering, rollout and the node daemon too, for clusters without that operator'"
complete -c berth -n "__fish_berth_using_subcommand doctor" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand doctor" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand doctor" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand doctor" -l approve -d 'The controllers decide about certificate requests'
complete -c berth -n "__fish_berth_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand controller" -l mode -d 'What the controllers do' -r -f -a "labels\t'Labels, Berths and pre-registration; the rest is left to the Machine Config Operator'
full\t'Rendering, rollout, drains and clean-up of rendered configs too, where no Machine Config Operator does them'"
complete -c berth -n "__fish_berth_using_subcommand controller" -s f -l filename -l site -d 'File or folder with documents, for whose nodes Berths are kept; repeatable, and read again when it changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l database -d 'Database for whose committed revision Berths are kept: `sqlite:PATH` or `postgres://USER@HOST/NAME`' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l database-file -d 'File with the address of the database, for one with a password' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l sealing-key-file -d 'File with the key that seals encrypted documents; without it `BERTH_SEALING_KEY` holds the key' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l sealing-key -d 'The key itself. Not for typing: other users of the machine would see it' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l admission -d 'How Nodes are checked when they come in' -r -f -a "policy\t'By admission policies, made from the cluster\'s rules and pools'
webhook\t'By the webhook at --admission-listen alone'
off\t'Not at all'"
complete -c berth -n "__fish_berth_using_subcommand controller" -l admission-failure -d 'What happens to a Node whose policy cannot be evaluated' -r -f -a "ignore\t'It comes in all the same'
fail\t'It is kept out; Nodes that policies check are not, because these need nobody to answer'"
complete -c berth -n "__fish_berth_using_subcommand controller" -l admission-listen -d 'Address and port of the webhook, which checks objects, and Nodes where policies cannot' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l tls-cert -d 'The webhook\'s certificate, in PEM; read again when it changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l tls-key -d 'The private key of the certificate, in PEM' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l admission-client-ca -d 'Roots of client certificates, in PEM; reviews are then taken only from API servers that show one' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l health-listen -d 'Address and port of /healthz, /readyz and /metrics' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l max-connections -d 'Connections at a time [default: 1024]' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l max-connections-per-address -d 'Connections at a time from one address, at most half of all; more where clients share one, as behind a proxy [default: 128]' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l max-streams -d 'Event streams at a time, of which one address may have a quarter [default: 256]' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l max-body-memory -d 'Memory for request bodies that have not been answered yet, in MiB; one address may use half of it [default: 256, the webhook 32]' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l lease-namespace -d 'Namespace of the Lease' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l lease-duration -d 'How long a silent leader keeps the Lease' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l identity -d 'Name of this replica, unique among all; without it one is made up' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand controller" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand controller" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand controller" -l log-format -d 'Form of the log' -r -f -a "plain\t'For people'
json\t'One JSON object per line'"
complete -c berth -n "__fish_berth_using_subcommand controller" -l log-level -d 'How much is logged' -r -f -a "error\t'What must be repaired'
warn\t'What should be looked at, too'
info\t'Every config served, too'
debug\t'Every step, too'"
complete -c berth -n "__fish_berth_using_subcommand controller" -l approve -d 'Decide about certificate requests of kubelets whose names are reserved'
complete -c berth -n "__fish_berth_using_subcommand controller" -l no-adoption -d 'Leave Nodes alone that have no Berth'
complete -c berth -n "__fish_berth_using_subcommand controller" -l allow-mass-removal -d 'Let a change take away more than a tenth of all labels that Berth set'
complete -c berth -n "__fish_berth_using_subcommand controller" -l take-over -d 'Set declared labels even where somebody else gave them another value'
complete -c berth -n "__fish_berth_using_subcommand controller" -l no-leader-election -d 'This is the only replica'
complete -c berth -n "__fish_berth_using_subcommand controller" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand daemon" -l node-name -d 'Name of the Node; without it the name of the host' -r
complete -c berth -n "__fish_berth_using_subcommand daemon" -l root -d 'Folder that the file system of the host is below' -r -F
complete -c berth -n "__fish_berth_using_subcommand daemon" -l drift -d 'What is done about things on the host that are not as the config says' -r -f -a "report\t'They are reported, and left alone'
repair\t'They are put right'
degrade\t'The node is Degraded until somebody puts them right'"
complete -c berth -n "__fish_berth_using_subcommand daemon" -l health-deadline -d 'How long a node may take to be healthy after a change before the change is taken back' -r
complete -c berth -n "__fish_berth_using_subcommand daemon" -l probe -d 'Command of the host that has to succeed after a change; repeatable' -r
complete -c berth -n "__fish_berth_using_subcommand daemon" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand daemon" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand daemon" -l log-format -d 'Form of the log' -r -f -a "plain\t'For people'
json\t'One JSON object per line'"
complete -c berth -n "__fish_berth_using_subcommand daemon" -l log-level -d 'How much is logged' -r -f -a "error\t'What must be repaired'
warn\t'What should be looked at, too'
info\t'Every config served, too'
debug\t'Every step, too'"
complete -c berth -n "__fish_berth_using_subcommand daemon" -l kexec -d 'Reboot without the firmware where the host can'
complete -c berth -n "__fish_berth_using_subcommand daemon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand status" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand status" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand status" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand node; and not __fish_seen_subcommand_from show force repair help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand node; and not __fish_seen_subcommand_from show force repair help" -f -a "show" -d 'Show what a node runs, what is wanted and what lies between'
complete -c berth -n "__fish_berth_using_subcommand node; and not __fish_seen_subcommand_from show force repair help" -f -a "force" -d 'Have a node\'s daemon write everything anew and try again'
complete -c berth -n "__fish_berth_using_subcommand node; and not __fish_seen_subcommand_from show force repair help" -f -a "repair" -d 'Put right what keeps a node from going on, as far as that is in the cluster'
complete -c berth -n "__fish_berth_using_subcommand node; and not __fish_seen_subcommand_from show force repair help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from show" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from show" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from show" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from force" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from force" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from force" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from repair" -l kubeconfig -d 'The kubeconfig; without it $KUBECONFIG, ~/.kube/config or the pod\'s service account' -r -F
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from repair" -l context -d 'The context of the kubeconfig' -r
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from repair" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from repair" -l dry-run -d 'Say what would be done'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show what a node runs, what is wanted and what lies between'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from help" -f -a "force" -d 'Have a node\'s daemon write everything anew and try again'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from help" -f -a "repair" -d 'Put right what keeps a node from going on, as far as that is in the cluster'
complete -c berth -n "__fish_berth_using_subcommand node; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "lint" -d 'Find every mistake in a folder of documents'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "resolve" -d 'Show the pool and the labels of every node'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "explain" -d 'Explain where the labels of one node come from'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "pools" -d 'Show which pool each node is in'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "plan" -d 'Show what would change on the live nodes'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "render" -d 'Merge the machine configs of a pool into one rendered config'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "diff" -d 'Compare two folders or revisions: what changes, what it costs'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "apply" -d 'Store a folder of documents as a new revision'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "revisions" -d 'List the revisions with their buckets and tags'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "show" -d 'Print the documents of a revision'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "rollback" -d 'Make a new revision with the documents of an earlier one'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "tag" -d 'Give a revision a tag, or take one away'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "configdocs" -d 'Stage documents and commit them, as Shipyard does'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "relabel" -d 'Give nodes the labels that the committed documents declare'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "actions" -d 'List the actions of a server, newest first'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "describe" -d 'Show an action with its steps and the outcome of every node'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "stop" -d 'Stop a running action after the nodes in progress'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "pause" -d 'Pause a running action after the nodes in progress'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "resume" -d 'Resume a paused action'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "retry" -d 'Run an action again for the nodes that failed'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "site-action" -d 'Record what was done to a whole site'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "shipyard" -d 'Shipyard\'s own command line, for scripts that have it'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "drydock" -d 'Drydock\'s own command line, for scripts that have it'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "promenade" -d 'Promenade\'s node labels, for scripts that have them'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "rollout" -d 'Plan how nodes move to their rendered config'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "forecast" -d 'Forecast a rollout: order, reboots, finish time'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "rehearse" -d 'Simulate a rollout on a copy of the cluster, with failures'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "machineconfig" -d 'Make the machine configs that carry a pool\'s boot labels'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "ignition" -d 'Make the Ignition config for a pool or for one machine'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "cloud-init" -d 'Make cloud-init user data with a machine\'s boot labels'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "kubeadm" -d 'Make a kubeadm config with a machine\'s boot labels'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "unit" -d 'Inspect the kubelet\'s systemd unit'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "ingress" -d 'Check where ingress routers run'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "egress" -d 'Check which nodes host egress addresses'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "up" -d 'Try the whole product on simulated machines'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "serve" -d 'Run the API server and the Ignition server in one process'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "ignition-server" -d 'Serve Ignition configs to machines'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "token" -d 'Manage tokens of machines and of API users'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "pointer" -d 'Print the small Ignition config that a machine boots from'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "iso" -d 'Embed an Ignition config in a CoreOS live image'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "ztp" -d 'Make the manifests that a hub installs a cluster from'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "node-manifest" -d 'Print the Node of a machine that has not booted yet'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "store" -d 'Check, back up and compact the database'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "labels" -d 'Check labels against the rules of kubelets'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "selector" -d 'Convert a label selector, to debug it'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "install" -d 'Install Berth in a cluster'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "uninstall" -d 'Remove Berth from a cluster; Nodes stay as they are'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "doctor" -d 'Check an installation, and say what to do'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "controller" -d 'Run the controllers'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "daemon" -d 'Run the node daemon'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "status" -d 'Show pools, berths, drift and conflicts of a cluster'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "node" -d 'Show, force or repair what the daemon of one node does'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff apply revisions show rollback tag configdocs relabel actions describe stop pause resume retry site-action shipyard drydock promenade rollout forecast rehearse machineconfig ignition cloud-init kubeadm unit ingress egress up serve ignition-server token pointer iso ztp node-manifest store labels selector install uninstall doctor controller daemon status node help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from configdocs" -f -a "load" -d 'Load a collection into the buffer'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from configdocs" -f -a "status" -d 'Show how every collection stands in two versions'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from configdocs" -f -a "commit" -d 'Validate the buffer and make it the committed version'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from configdocs" -f -a "show" -d 'Print the documents of a collection'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from configdocs" -f -a "versions" -d 'List the versions of the site with their revisions'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from site-action" -f -a "record" -d 'Say that a site action took place at a revision'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "create" -d 'Start an action, or load documents'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "commit" -d 'Validate and commit the buffer'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "get" -d 'Show actions, documents, workflows or statuses'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "describe" -d 'Show an action, a step, a validation, a workflow or a note'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "logs" -d 'Show what a step has written'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "stop" -d 'End a running action'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "pause" -d 'Hold a running action'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "unpause" -d 'Let a paused action go on'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from shipyard" -f -a "help" -d 'Say what can be done'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from drydock" -f -a "task" -d 'Start a task, or look at tasks'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from drydock" -f -a "node" -d 'Look at nodes'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from drydock" -f -a "design" -d 'Validate a design'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from promenade" -f -a "node-labels" -d 'The labels of one node'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from promenade" -f -a "validate-design" -d 'Validate the documents of a revision, as Shipyard does at a commit'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from rollout" -f -a "plan" -d 'Show which nodes would move next, pool by pool'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from unit" -f -a "kubelet" -d 'Make the drop-in that gives a kubelet its labels, or show its command'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from ingress" -f -a "check" -d 'Check where the routers of each ingress controller can run'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from ingress" -f -a "rewrite" -d 'Say a selector that the operator refuses in a way that it takes'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from ingress" -f -a "shard" -d 'Print a shard whose routers run on the nodes of a remote site'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from egress" -f -a "plan" -d 'Plan which node hosts each egress address'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from egress" -f -a "verify" -d 'Compare the plan with what the cluster does, before and after a relabelling'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "create" -d 'Make a token'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List tokens: what each opens, until when, and whether it still does'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "revoke" -d 'Take a token back: from now on it opens nothing'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from iso" -f -a "embed" -d 'Put an Ignition config into a live image'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from iso" -f -a "show" -d 'Print the config that is in a live image'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from iso" -f -a "remove" -d 'Take the config out of a live image'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from iso" -f -a "restore" -d 'Undo the last change in place'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from ztp" -f -a "check" -d 'Find what the hub would refuse in manifests that you have'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "check" -d 'Look through everything that is stored and say what is wrong'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "backup" -d 'Write a copy of the database to a new file'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "compact" -d 'Give unused space of the database back; no revision is lost'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from labels" -f -a "check" -d 'Check labels: are they legal, and who may set them'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from node" -f -a "show" -d 'Show what a node runs, what is wanted and what lies between'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from node" -f -a "force" -d 'Have a node\'s daemon write everything anew and try again'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from node" -f -a "repair" -d 'Put right what keeps a node from going on, as far as that is in the cluster'
