import { setAutoTopup } from '@berth/contract/auto-topup'
import { cancelTopup, getBalance, listOpenTopups, listTransactions, topup } from '@berth/contract/billing'
import { addBudget, listBudgets, removeBudget } from '@berth/contract/budgets'
import { applyCoupon } from '@berth/contract/credits'
import { addPaymentMethod, listPaymentMethods, removePaymentMethod } from '@berth/contract/payment-methods'
import { TEST_CARDS } from '../../src/drivers/payments/testcard/test-cards.ts'
import { COUPONS, pick } from './chances.ts'
import type { Performer } from './performer.ts'

const AMOUNTS = [100, 101, 500, 999, 2_500, 10_000, 25_000]
/** Two of three times the card is good. */
const GOOD_SHARE = 0.5

/** Disputes are acts of their own here: cards that are disputed by themselves would meet them. */
const CARDS = TEST_CARDS.filter(({ disputed_later }) => !disputed_later)

function cardOf(dice: number): string {
  const [good] = CARDS
  if (dice < GOOD_SHARE) return good?.number ?? ''
  return pick(CARDS, (dice - GOOD_SHARE) / (1 - GOOD_SHARE))?.number ?? ''
}

/** What customers do with money. Each gives whether it came to something. */
export const MONEY_ACTS = {
  async topUp({ ask, dice: [which, amount, how] }) {
    const cents = pick(AMOUNTS, amount) ?? 100
    const { platform_name, currency } = { platform_name: 'testcard', currency: 'USD' as const }
    if (how < 0.2) {
      const method = await pickMethod(ask, which)
      if (method !== undefined) {
        const body = { amount: cents, currency, platform_name, method_id: method }
        return (await ask(topup, { body })).ok
      }
    }
    const body = { amount: cents, currency, platform_name, source: cardOf(which), save_method: how > 0.9 }
    return (await ask(topup, { body })).ok
  },
  async confirm({ ask, sendForm, dice: [which, answer] }) {
    const open = await ask(listOpenTopups, {})
    const pages = open.ok ? open.data.filter(({ next_url }) => next_url !== null) : []
    const page = pick(pages, which)?.next_url
    return page ? await sendForm(page, { answer: answer < 0.75 ? 'confirm' : 'refuse' }) : false
  },
  async cancelTopUp({ ask, dice: [which] }) {
    const open = await ask(listOpenTopups, {})
    const one = open.ok ? pick(open.data, which) : undefined
    return one ? (await ask(cancelTopup, { params: { id: one.transaction_id } })).ok : false
  },
  async saveMethod({ ask, dice: [which] }) {
    return (await ask(addPaymentMethod, { body: { platform_name: 'testcard', source: cardOf(which) } })).ok
  },
  async removeMethod({ ask, dice: [which] }) {
    const method = await pickMethod(ask, which)
    return method ? (await ask(removePaymentMethod, { params: { id: method } })).ok : false
  },
  async setAutoTopUp({ ask, dice: [enabled, amount, threshold] }) {
    const cents = pick(AMOUNTS, amount) ?? 100
    const body = {
      enabled: enabled < 0.75,
      threshold: 1 + Math.floor(threshold * 2_000),
      amount: cents,
      monthly_cap: cents * 4,
      payment_method_id: null,
    }
    return (await ask(setAutoTopup, { body })).ok
  },
  async redeem({ ask, dice: [which] }) {
    return (await ask(applyCoupon, { body: { code: pick(COUPONS, which)?.code ?? '' } })).ok
  },
  async refund({ customer, operator, id, dice: [which, part] }) {
    return await operator.refund(customer.userId, { which, part, id })
  },
  async giveCredit({ customer, operator, id, dice: [amount, ends] }) {
    return await operator.giveCredit(customer.userId, {
      id,
      amountMicro: BigInt(1 + Math.floor(amount * 20_000_000)),
      endsInSeconds: ends < 0.5 ? null : Math.ceil((ends - 0.5) * 400_000),
    })
  },
  async dispute({ customer, operator, dice: [which] }) {
    return await operator.dispute(customer.userId, { which, wins: false })
  },
  async winDispute({ customer, operator, dice: [which] }) {
    return await operator.dispute(customer.userId, { which, wins: true })
  },
  async addBudget({ ask, dice: [amount, period, stops] }) {
    const body = {
      instance_id: null,
      period: pick(['day', 'month'] as const, period) ?? 'day',
      amount: 1 + Math.floor(amount * 5_000),
      stops: stops < 0.3,
    }
    return (await ask(addBudget, { body })).ok
  },
  async removeBudget({ ask, dice: [which] }) {
    const budgets = await ask(listBudgets, {})
    const one = budgets.ok ? pick(budgets.data, which) : undefined
    return one ? (await ask(removeBudget, { params: { id: one.id } })).ok : false
  },
  /** Looks at the balance: nothing in it is ever negative, and the list opens. */
  async look({ ask, wrong, customer }) {
    const balance = await ask(getBalance, {})
    if (!balance.ok) return false
    const { amount, amount_available, amount_credits, amount_free, amount_freeze, amount_owed } =
      balance.data.account_balance
    const parts = [amount, amount_available, amount_credits, amount_free, amount_freeze, amount_owed]
    if (Math.min(...parts) < 0 || amount !== amount_available + amount_freeze) {
      wrong.add(`the balance of ${customer.userId} is ${JSON.stringify(balance.data.account_balance)}`)
    }
    return (await ask(listTransactions, { query: { page: 1, page_size: 20 } })).ok
  },
} satisfies Record<string, (performer: Performer) => Promise<boolean>>

async function pickMethod(ask: Performer['ask'], dice: number): Promise<string | undefined> {
  const methods = await ask(listPaymentMethods, {})
  return methods.ok ? pick(methods.data, dice)?.id : undefined
}
