/**
 * `completion`: prints a script that completes commands and flags in a shell.
 *
 * @module
 */

import { commonFlags, describeChoice, UsageError } from '../arguments.js';
import type { Command } from '../command.js';
import { exitCodes } from '../context.js';

/** What can follow the words of a command line: other words, or flags. */
interface Step {
  readonly words: string;
  readonly next: readonly string[];
}

const scripts = { bash: toBash, zsh: toZsh, fish: toFish };

const shells = Object.keys(scripts) as (keyof typeof scripts)[];

/** Creates the command. `list` returns all commands. */
export function createCompletion(list: () => readonly Command[]): Command {
  return {
    name: 'completion',
    about: `print a script that completes commands and flags: source <(hosted-client completion bash)`,
    positionals: [shells.join('|')],
    flags: {},
    async run({ positionals: [given = ''] }, { stdout }) {
      const shell = shells.find((each) => each === given);
      if (shell === undefined) throw new UsageError(`Argument 2 ${describeChoice(given, shells)}`);
      stdout.write(scripts[shell](toSteps(list())));
      return exitCodes.done;
    },
  };
}

function toSteps(commands: readonly Command[]): readonly Step[] {
  const steps = new Map<string, Set<string>>();
  const add = (words: string, next: string) => steps.set(words, (steps.get(words) ?? new Set()).add(next));
  for (const { name, flags } of commands) {
    const words = name.split(' ');
    for (const [index, word] of words.entries()) add(words.slice(0, index).join(' '), word);
    for (const flag of Object.keys({ ...flags, ...commonFlags })) add(name, `--${flag}`);
  }
  return [...steps].map(([words, next]) => ({ words, next: [...next] }));
}

function toBash(steps: readonly Step[]): string {
  return `_hosted_client() {
  local next
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1}" in
${toCases(steps)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _hosted_client hosted-client
`;
}

function toZsh(steps: readonly Step[]): string {
  return `#compdef hosted-client
_hosted_client() {
  local next
  case "\${words[2,CURRENT-1]}" in
${toCases(steps)}
  esac
  compadd -- \${=next}
}
compdef _hosted_client hosted-client
`;
}

function toCases(steps: readonly Step[]): string {
  return toSorted(steps)
    .map(({ words, next }) => `    ${words === '' ? "''" : `'${words}'*`}) next='${next.join(' ')}' ;;`)
    .join('\n');
}

function toFish(steps: readonly Step[]): string {
  const cases = toSorted(steps).map(
    ({ words, next }) => `    case '${words}${words && '*'}'\n      string split -- ' ' '${next.join(' ')}'`,
  );
  return `function __hosted_client_next
  set -l words (commandline -opc)[2..-1]
  switch "$words"
${cases.join('\n')}
  end
end
complete -c hosted-client -a '(__hosted_client_next)'
`;
}

/** Sorts the longest words first, because flags and their values follow the words of a command. */
function toSorted(steps: readonly Step[]): readonly Step[] {
  return steps.toSorted((one, other) => other.words.length - one.words.length);
}
