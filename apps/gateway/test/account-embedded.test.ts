import { eq } from 'drizzle-orm'
import { userAccount } from '../src/domains/identity/tables.ts'
import { accountSuite } from './account-suite.ts'
import { createIdentityBench } from './identity-bench.ts'

accountSuite('the gateway itself', {
  createBench: () => createIdentityBench(),
  async expirePassword(bench, email) {
    await bench.database.db
      .update(userAccount)
      .set({ needUpdatePassword: true })
      .where(eq(userAccount.email, email))
  },
  async takePassword(bench, email) {
    await bench.database.db
      .update(userAccount)
      .set({ passwordHash: null })
      .where(eq(userAccount.email, email))
  },
})
