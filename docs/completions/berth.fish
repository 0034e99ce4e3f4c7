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
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "lint" -d 'Find every mistake in a folder of documents'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "resolve" -d 'Show the pool and the labels of every node'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "explain" -d 'Explain where the labels of one node come from'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "pools" -d 'Show which pool each node is in'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "plan" -d 'Show what would change on the live nodes'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "labels" -d 'Questions about labels alone'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "selector" -d 'Convert a label selector, to debug it'
complete -c berth -n "__fish_berth_using_subcommand help; and not __fish_seen_subcommand_from lint resolve explain pools plan labels selector help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c berth -n "__fish_berth_using_subcommand help; and __fish_seen_subcommand_from labels" -f -a "check" -d 'Check labels: are they legal, and who may set them'
