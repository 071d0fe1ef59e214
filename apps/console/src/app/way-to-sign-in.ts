import { stringifySearch } from './search.ts'

/**
 * The address of the form that a guest signs in with, which leads back to where they are (R2.6, R2.13).
 * @param mode Whether they have an account.
 * @param back Path and query of where they go afterwards.
 */
export function wayToSignIn(mode: 'login' | 'signup', back: string): string {
  return `/auth${stringifySearch({ mode, redirect: back })}`
}
