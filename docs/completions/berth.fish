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
complete -c berth -n "__fish_berth_needs_command" -f -a "diff" -d 'Compare two folders of documents: what changes on machines, and what it costs'
complete -c berth -n "__fish_berth_needs_command" -f -a "rollout" -d 'Questions about moving nodes to their rendered config'
complete -c berth -n "__fish_berth_needs_command" -f -a "forecast" -d 'Foretell a rollout: who moves when, with how many reboots, and until when'
complete -c berth -n "__fish_berth_needs_command" -f -a "serve" -d 'Run everything that Berth serves in one process'
complete -c berth -n "__fish_berth_needs_command" -f -a "ignition-server" -d 'Serve Ignition configs to machines'
complete -c berth -n "__fish_berth_needs_command" -f -a "token" -d 'Tokens with which machines fetch their Ignition config'
complete -c berth -n "__fish_berth_needs_command" -f -a "pointer" -d 'Print the small Ignition config that a machine boots from'
complete -c berth -n "__fish_berth_needs_command" -f -a "labels" -d 'Questions about labels alone'
complete -c berth -n "__fish_berth_needs_command" -f -a "selector" -d 'Convert a label selector, to debug it'
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
complete -c berth -n "__fish_berth_using_subcommand diff" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand diff" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
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
complete -c berth -n "__fish_berth_using_subcommand forecast" -l window -d 'The maintenance window, from the start of the rollout: 4h, 90m, 1h30m' -r
complete -c berth -n "__fish_berth_using_subcommand forecast" -l svg -d 'Draw the rollout as a chart over time into this file' -r -F
complete -c berth -n "__fish_berth_using_subcommand forecast" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand forecast" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand forecast" -s o -l output -d 'Output format' -r -f -a "table\t'For people'
wide\t'For people, with more columns'
json\t'For programs; the fields are stable'
yaml\t'The same data as JSON'
name\t'One name per line'"
complete -c berth -n "__fish_berth_using_subcommand forecast" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand serve" -s f -l filename -l site -d 'File or folder with the site\'s documents; repeatable' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l ignition-listen -d 'Address and port for TLS; port 0 takes any free one' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l tls-cert -d 'The server\'s certificate and those that lead to its root, in PEM; read again when it changes' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l tls-key -d 'The private key of the certificate, in PEM' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l plain-listen -d 'Address and port without TLS; whoever sees the traffic sees the secrets in the configs' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l tokens -d 'File with the tokens, as `berth token create` writes it' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l os-image-url -d 'Image of the operating system, unless a machine config names another' -r
complete -c berth -n "__fish_berth_using_subcommand serve" -l kubeconfig -d 'Kubeconfig with which the machines\' kubelets ask for their certificate, added to every config' -r -F
complete -c berth -n "__fish_berth_using_subcommand serve" -l log-format -d 'Form of the log' -r -f -a "plain\t'For people'
json\t'One JSON object per line'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l log-level -d 'How much is logged' -r -f -a "error\t'What must be repaired'
warn\t'What should be looked at, too'
info\t'Every config served, too'
debug\t'Every step, too'"
complete -c berth -n "__fish_berth_using_subcommand serve" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
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
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l log-format -d 'Form of the log' -r -f -a "plain\t'For people'
json\t'One JSON object per line'"
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l log-level -d 'How much is logged' -r -f -a "error\t'What must be repaired'
warn\t'What should be looked at, too'
info\t'Every config served, too'
debug\t'Every step, too'"
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l flavour -d 'Whose kubelet and NodeRestriction rules hold; routes depend on it' -r -f -a "upstream\t'Kubernetes as released upstream'
openshift\t'OpenShift, whose kubelet may set some role labels itself'"
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -l allow-anonymous -d 'Give configs, and the secrets in them, to whoever asks'
complete -c berth -n "__fish_berth_using_subcommand ignition-server" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -s h -l help -d 'Print help'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "create" -d 'Make a token'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "list" -d 'List tokens: what each opens, until when, and whether it still does'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "revoke" -d 'Take a token back: from now on it opens nothing'
complete -c berth -n "__fish_berth_using_subcommand token; and not __fish_seen_subcommand_from create list revoke help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l pool -d 'Opens the config of this pool, and those of the nodes in it' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l node -d 'Opens the config of this node' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l expires -d 'How long the token is good for: 24h, 7d; for ever when left out' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l comment -d 'A word for people, shown in the list' -r
complete -c berth -n "__fish_berth_using_subcommand token; and __fish_seen_subcommand_from create" -l token-file -d 'File that holds the tokens, hashed; a running server notices changes' -r -F
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
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "lint" -d 'Find every mistake in a folder of documents'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "resolve" -d 'Show the pool and the labels of every node'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "explain" -d 'Explain where the labels of one node come from'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "pools" -d 'Show which pool each node is in'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "plan" -d 'Show what would change on the live nodes'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "render" -d 'Merge the machine configs of a pool into one rendered config'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "diff" -d 'Compare two folders of documents: what changes on machines, and what it costs'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "rollout" -d 'Questions about moving nodes to their rendered config'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "forecast" -d 'Foretell a rollout: who moves when, with how many reboots, and until when'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "serve" -d 'Run everything that Berth serves in one process'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "ignition-server" -d 'Serve Ignition configs to machines'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "token" -d 'Tokens with which machines fetch their Ignition config'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "pointer" -d 'Print the small Ignition config that a machine boots from'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "labels" -d 'Questions about labels alone'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "selector" -d 'Convert a label selector, to debug it'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan render diff rollout forecast serve ignition-server token pointer labels selector help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from rollout" -f -a "plan" -d 'Show which nodes would move next, pool by pool'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "create" -d 'Make a token'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List tokens: what each opens, until when, and whether it still does'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "revoke" -d 'Take a token back: from now on it opens nothing'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from labels" -f -a "check" -d 'Check labels: are they legal, and who may set them'
