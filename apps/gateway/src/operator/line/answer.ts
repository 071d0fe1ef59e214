/** How the program ends; `docs/operating.md` says it to operators. */
export const EXIT = {
  done: 0,
  /** What was asked for cannot be done, or a check has found a difference. */
  refused: 1,
  /** What was typed is not understood; nothing was done. */
  usage: 2,
  /** Nothing has that name; nothing was done. */
  notFound: 3,
  /** It destroys something and was not confirmed; nothing was done. */
  unconfirmed: 4,
  /** The installation could not be reached, or something broke on the way. */
  failed: 5,
} as const
export type Exit = (typeof EXIT)[keyof typeof EXIT]

/** What each exit status means, for the help and the guide. */
export const EXIT_WORDS: Record<Exit, string> = {
  0: 'done',
  1: 'refused, or a check found a difference; standard error says which',
  2: 'not understood; nothing was done',
  3: 'nothing has that name; nothing was done',
  4: 'it destroys something and was not confirmed; nothing was done',
  5: 'the installation was not reached, or something broke on the way',
}

/** What a command answers: for programs, and for people. */
export interface Answer {
  /** As JSON, with names in snake_case, moments in ISO 8601 and money in micro-units as text. */
  data: unknown
  /** Whole lines. */
  text: string
  /** Left out: done. */
  exit?: Exit
}

/** What a changing command is about to do. Nothing has been changed when it is handed back. */
export interface Plan {
  /** Sentences that say what is done, for `--dry-run` and before a question. */
  says: string[]
  /** The same for programs. */
  data: unknown
  /** What has to be typed before it is done, where it destroys something; left out where it does not. */
  confirm?: string
  /** What it is done to, for the log of operators: a name, never a secret. */
  target: string
  /** What is said to whoever wants JSON of it, where a file takes standard output; left out where none does. */
  poursInstead?: string
  /** What the log keeps of it, where that is not what it says: of an account that is deleted no address. */
  detail?: string
  /** Whose account it concerns; left out where it is nobody's. */
  userId?: string
  /** Does it. */
  act(): Promise<Answer>
}

/** What was typed is not understood; nothing was done. */
export class UsageError extends Error {}

/** What was asked for is understood and cannot be done; the message is for the operator, in words. */
export class Refused extends Error {}

/** Nothing has the name that was typed. */
export class NotFound extends Refused {}
