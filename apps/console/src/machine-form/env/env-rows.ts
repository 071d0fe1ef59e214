import type { DeploySetup } from '@berth/contract/deploy-templates'
import { deployBody } from '@berth/contract/instances'
import * as z from 'zod'
import { parseDotenv, type Variable } from './parse-dotenv.ts'

/** A variable of the form. */
export interface EnvRow extends Variable {
  /** Whether its value is hidden; null: its name says so. */
  secret: boolean | null
  /** The name of the secret whose value this row keeps while nothing is typed; nobody is told that value. */
  keeps?: string
}

/**
 * The variables of an instance or a template, as the form holds them.
 * @param setup Values of secret ones are empty.
 */
export function rowsOf({ env, secret_env }: Pick<DeploySetup, 'env' | 'secret_env'>): EnvRow[] {
  const secrets = new Set(secret_env)
  return Object.entries(env).map(([name, value]) => ({ name, value, secret: secrets.has(name) }))
}

/**
 * As `rowsOf`, for a form whose secret variables keep their values unless others are typed.
 * @param setup Values of secret ones are empty.
 */
export function keptRowsOf(setup: Pick<DeploySetup, 'env' | 'secret_env'>): EnvRow[] {
  return rowsOf(setup).map(row => (row.secret ? { ...row, keeps: row.name } : row))
}

/**
 * Whether what a row keeps would be lost: it has another name, and no value in its place.
 * @param row As the form holds it.
 */
export function isLost({ name, value, keeps }: EnvRow): boolean {
  return keeps !== undefined && keeps !== name && value === ''
}

const SECRET_NAME = /(?:^|_)(?:TOKEN|KEY|SECRET|CREDENTIALS?)$|PASSWORD|PASSWD|PASSPHRASE/i

/**
 * Whether a variable's value is hidden where it is shown.
 * @param row As the form holds it.
 */
export function isSecret({ name, secret }: EnvRow): boolean {
  return secret ?? SECRET_NAME.test(name)
}

/**
 * Puts what was pasted among the rows that are there: a name that is there gets the new value, and stays as secret as it
 * was made.
 * @param rows Those of the form.
 * @param pasted What the text holds.
 */
export function mergeRows(rows: readonly EnvRow[], pasted: readonly Variable[]): EnvRow[] {
  const given = new Map(pasted.map(variable => [variable.name, variable.value]))
  const kept = filledRows(rows).map(row => ({ ...row, value: given.get(row.name) ?? row.value }))
  const known = new Set(kept.map(({ name }) => name))
  const added = pasted.filter(({ name }) => !known.has(name)).map(variable => ({ ...variable, secret: null }))
  return [...kept, ...added]
}

/**
 * Rows that hold something, if only a value that is kept.
 * @param rows Those of the form.
 */
export function filledRows(rows: readonly EnvRow[]): EnvRow[] {
  return rows.filter(({ name, value, keeps }) => name !== '' || value !== '' || keeps !== undefined)
}

/**
 * Names of the variables that are never shown again.
 * @param rows Those of the form.
 */
export function secretNames(rows: readonly EnvRow[]): string[] {
  return filledRows(rows)
    .filter(isSecret)
    .map(({ name }) => name)
}

/**
 * What a paste into a field of the editor means: several variables, or null for what is just text in that field.
 * @param text What was pasted.
 * @param isValue Into a value, which may have several lines itself: there only what is wholly a `.env` is taken for one.
 */
export function readPaste(text: string, isValue: boolean): ReturnType<typeof parseDotenv> | null {
  const hasLines = text.trim().includes('\n')
  if (!hasLines && (isValue || !text.includes('='))) return null
  const parsed = parseDotenv(text)
  const isDotenv = parsed.variables.length > 0 && parsed.unread.length === 0
  return isDotenv || !isValue ? parsed : null
}

/**
 * The form's field of them, which meets the call's own rules: no name twice, rows with nothing in them do not count, and
 * nothing that is kept is lost by a new name.
 */
export const envRows = z
  .array(
    z.object({
      name: z.string(),
      value: z.string(),
      secret: z.boolean().nullable(),
      keeps: z.string().exactOptional(),
    }),
  )
  .transform((rows, context) => {
    const values: [string, string][] = []
    const seen = new Set<string>()
    for (const row of filledRows(rows)) {
      const { name, value } = row
      if (isLost(row)) context.addIssue({ code: 'custom', path: [name], message: 'env_renamed' })
      if (seen.has(name)) context.addIssue({ code: 'custom', path: [name], message: 'env_duplicate' })
      seen.add(name)
      values.push([name, value])
    }
    return Object.fromEntries(values)
  })
  .pipe(deployBody.shape.env.unwrap())
