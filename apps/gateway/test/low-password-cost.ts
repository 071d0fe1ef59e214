import type { PasswordCost } from '../src/domains/identity/passwords/passwords.ts'

/** The least that Argon2 takes: a hash of the real cost takes 25 ms of a processor, and tests make a thousand. */
export const LOW_PASSWORD_COST: PasswordCost = { memoryCost: 8, timeCost: 1, parallelism: 1 }
