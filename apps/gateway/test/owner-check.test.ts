import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { getAccount, listSessions } from '@berth/contract/account'
import { createApiKey } from '@berth/contract/api-keys'
import { topup as topupCall } from '@berth/contract/billing'
import { addBudget, listBudgets } from '@berth/contract/budgets'
import type { Audience, Call } from '@berth/contract/call'
import { calls } from '@berth/contract/calls'
import { addDeployTemplate } from '@berth/contract/deploy-templates'
import { officialImages } from '@berth/contract/images'
import { deployInstance, listInstances } from '@berth/contract/instances'
import { listInvoices } from '@berth/contract/invoices'
import { RECENT_SIGN_IN_MS } from '@berth/contract/limits'
import { watchOffer } from '@berth/contract/offer-watches'
import { addPaymentMethod } from '@berth/contract/payment-methods'
import { addRegistryCredential } from '@berth/contract/registries'
import { addSshKey } from '@berth/contract/ssh-keys'
import { makeS3Key } from '@berth/contract/volume-s3'
import { createVolume } from '@berth/contract/volumes'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { closeCustomer } from '../src/domains/customers/customers.ts'
import { session, userAccount } from '../src/domains/identity/tables.ts'
import { imageDetails, keptImage } from '../src/domains/images/images-fixture.ts'
import { ownImage } from '../src/domains/images/tables.ts'
import { failedFilm } from '../src/domains/models/creations/creations-fixture.ts'
import { creation, creationItem } from '../src/domains/models/creations/tables.ts'
import { DEFAULT_CHOICE } from '../src/domains/notifications/choices.ts'
import { volumeSnapshot } from '../src/domains/volumes/snapshots/tables.ts'
import { systemIds } from '../src/platform/ids.ts'
import { type CallAnswer, sendCall, startGateway, type TestGateway } from './start-gateway.ts'

/**
 * Who may make which call, written out: a call of the contract without a row fails, and so does a row that says
 * another audience. The rows are then walked as a guest, as a customer whose address is not verified, as the
 * owner of the things named, and as another customer with the owner's ids.
 */
const WHO: Record<string, Audience> = {
  'account.get-application': 'guest',
  'account.login': 'guest',
  'account.login-by': 'guest',
  'account.signup': 'guest',
  'account.logout': 'guest',
  'account.get-account': 'user',
  'account.send-verify-email': 'guest',
  'account.verify-email': 'guest',
  'account.send-reset-password-email': 'guest',
  'account.reset-password': 'guest',
  'account.update-user': 'user',
  'account.sessions': 'user',
  'account.end-session': 'user',
  'account.end-other-sessions': 'user',
  'account.get-captcha-status': 'guest',
  'account.get-captcha': 'guest',
  'account.begin-provider-sign-in': 'guest',
  'account.link': 'user',
  'account.unlink': 'user',
  'account.set-password': 'user',
  'account.confirm-sign-in': 'user',
  'account.send-sign-in-code': 'user',
  'account.delete-account': 'user',
  'account.audit-log': 'user',
  'notification.get': 'user',
  'notification.set': 'user',
  'ssh_key.list': 'user',
  'ssh_key.add': 'verified',
  'ssh_key.remove': 'user',
  'registry.list': 'user',
  'registry.add': 'verified',
  'registry.edit': 'user',
  'registry.remove': 'user',
  'registry.check': 'user',
  'api_key.list': 'user',
  'api_key.create': 'verified',
  'api_key.edit': 'verified',
  'api_key.revoke': 'user',
  'mailbox.list': 'guest',
  'settings.get': 'guest',
  'settings.terms': 'guest',
  'region.all': 'guest',
  'region.list': 'guest',
  'gpu_spec.list': 'guest',
  'model.list': 'guest',
  'model.chat': 'verified',
  'model.figures': 'guest',
  'model.days': 'guest',
  'check_in.get': 'user',
  'check_in.take': 'verified',
  'model.session-log': 'user',
  'model.call-body': 'user',
  'api_key.keeping': 'user',
  'api_key.set-keeping': 'user',
  'model.session-log-download': 'user',
  'model.generate-image': 'verified',
  'model.list-creations': 'user',
  'model.creation-outlook': 'user',
  'model.creation-archive': 'user',
  'model.get-creation': 'user',
  'model.make-images': 'verified',
  'model.make-video': 'verified',
  'model.upload-picture': 'verified',
  'model.stop-creation': 'user',
  'model.notify-creation': 'verified',
  'model.delete-creation': 'user',
  'model.star-creation': 'user',
  'model.retry-creation': 'verified',
  'image.official': 'guest',
  'image.official-in': 'guest',
  'image.community': 'guest',
  'image.community-in': 'guest',
  'image.custom': 'user',
  'image.custom-in': 'user',
  'image.price': 'user',
  'image.get': 'guest',
  'image.build-log': 'user',
  'image.create': 'verified',
  'image.upload-cover': 'verified',
  'image.edit': 'verified',
  'image.delete': 'verified',
  'image.publish': 'verified',
  'image.cancel-publishing': 'verified',
  'image.make-private': 'verified',
  'image.cancel-build': 'verified',
  'image.star': 'verified',
  'image.unstar': 'verified',
  'image.report': 'verified',
  'instance.deploy': 'verified',
  'instance.list': 'user',
  'instance.page': 'user',
  'instance.edit': 'verified',
  'instance.terminate': 'verified',
  'instance.stop': 'verified',
  'instance.restart': 'verified',
  'instance.start': 'verified',
  'instance.connection': 'verified',
  'instance.diagnose-connection': 'verified',
  'instance.start-web-terminal': 'verified',
  'instance.stop-web-terminal': 'verified',
  'instance.check-resource': 'user',
  'instance.price': 'user',
  'instance.events': 'user',
  'instance.follow': 'user',
  'instance.follow-logs': 'user',
  'instance.logs': 'user',
  'instance.search-logs': 'user',
  'instance.download-log': 'verified',
  'instance.metrics': 'user',
  'instance.get': 'user',
  'file.list': 'verified',
  'file.plan-upload': 'verified',
  'file.upload': 'verified',
  'file.download': 'verified',
  'file.make-folder': 'verified',
  'file.rename': 'verified',
  'file.remove': 'verified',
  'instance.billing-preview': 'user',
  'instance.renew': 'verified',
  'instance.toggle-renewal': 'verified',
  'instance.toggle-subscription': 'verified',
  'instance.convert-charge-type': 'verified',
  'eip.price': 'user',
  'eip.bind': 'verified',
  'eip.unbind': 'verified',
  'deploy_template.list': 'user',
  'deploy_template.get': 'user',
  'deploy_template.add': 'verified',
  'deploy_template.rename': 'user',
  'deploy_template.remove': 'user',
  'instance.setup': 'user',
  'offer_watch.add': 'verified',
  'offer_watch.list': 'user',
  'offer_watch.cancel': 'user',
  'netvolume.price': 'user',
  'netvolume.list': 'user',
  'netvolume.create': 'verified',
  'netvolume.edit': 'verified',
  'netvolume.grow': 'verified',
  'netvolume.attach': 'verified',
  'netvolume.detach': 'verified',
  'netvolume.delete': 'verified',
  'netvolume.snapshots': 'user',
  'netvolume.take-snapshot': 'verified',
  'netvolume.delete-snapshot': 'verified',
  'netvolume.restore-snapshot': 'verified',
  'netvolume.schedule-snapshots': 'verified',
  'netvolume.s3': 'user',
  'netvolume.make-s3-key': 'verified',
  'netvolume.rotate-s3-key': 'verified',
  'netvolume.revoke-s3-key': 'user',
  'bill.balance': 'user',
  'bill.outlook': 'user',
  'bill.pay-platform': 'user',
  'bill.topup': 'verified',
  'bill.topup-open': 'user',
  'bill.topup-state': 'user',
  'bill.topup-cancel': 'user',
  'bill.transaction': 'user',
  'bill.transaction-download': 'user',
  'bill.transaction-receipt': 'user',
  'bill.spend': 'user',
  'bill.budgets': 'user',
  'bill.add-budget': 'verified',
  'bill.edit-budget': 'verified',
  'bill.remove-budget': 'user',
  'bill.bill-duration': 'user',
  'bill.order': 'user',
  'bill.order-line': 'user',
  'bill.order-download': 'user',
  'bill.invoice': 'user',
  'bill.invoice-page': 'user',
  'bill.invoice-pdf': 'user',
  'bill.billing-address': 'user',
  'bill.billing-address-set': 'user',
  'bill.coupon': 'user',
  'bill.coupon-apply': 'verified',
  'bill.credit': 'user',
  'referral.invitation': 'guest',
  'referral.get': 'user',
  'referral.records': 'user',
  'referral.record-download': 'user',
  'referral.orders': 'user',
  'referral.order-download': 'user',
  'referral.quarters': 'user',
  'referral.choose': 'verified',
  'referral.paypal': 'user',
  'referral.set-paypal': 'verified',
  'referral.confirm-paypal': 'verified',
  'referral.resend-paypal': 'verified',
  'referral.remove-paypal': 'verified',
  'bill.payment-method': 'user',
  'bill.payment-method-add': 'verified',
  'bill.payment-method-set': 'user',
  'bill.payment-method-remove': 'user',
  'bill.payment-intent': 'verified',
  'bill.checkout-url': 'user',
  'bill.check-payable': 'user',
  'instance.resume': 'user',
  'instance.set-resume': 'verified',
  'bill.auto-topup': 'user',
  'bill.auto-topup-set': 'verified',
}

/** What the walk sends where a call needs more than nothing; `id` is the owner's. */
const INPUTS: Record<string, (ids: Ids) => Input> = {
  'account.end-session': ({ session }) => ({ params: { id: session } }),
  'ssh_key.remove': ({ sshKey }) => ({ params: { id: sshKey } }),
  'registry.edit': ({ registry }) => ({ params: { id: registry }, body: { username: 'theirs' } }),
  'registry.remove': ({ registry }) => ({ params: { id: registry } }),
  'registry.check': ({ registry }) => ({ params: { id: registry } }),
  'api_key.edit': ({ apiKey }) => ({
    params: { id: apiKey },
    body: {
      name: 'theirs',
      models: null,
      spend_limit: null,
      requests_per_minute: null,
      tokens_per_minute: null,
    },
  }),
  'api_key.revoke': ({ apiKey }) => ({ params: { id: apiKey } }),
  'model.get-creation': ({ creation }) => ({ params: { id: creation } }),
  'model.stop-creation': ({ creation }) => ({ params: { id: creation } }),
  'model.notify-creation': ({ creation }) => ({ params: { id: creation }, body: { mail: true } }),
  'model.delete-creation': ({ creation }) => ({ params: { id: creation } }),
  'model.star-creation': ({ creationItem }) => ({ params: { id: creationItem }, body: { starred: true } }),
  'model.retry-creation': ({ creationItem }) => ({ params: { id: creationItem } }),
  'account.unlink': ({ user }) => ({ body: { providerType: 'GitHub', user: { id: user } } }),
  'instance.edit': ({ instance }) => ({ body: { instance_id: instance, name: 'theirs' } }),
  'instance.terminate': ({ instance }) => ({ params: { id: instance } }),
  'instance.stop': ({ instance }) => ({ params: { id: instance } }),
  'instance.restart': ({ instance }) => ({ params: { id: instance } }),
  'instance.start': ({ instance }) => ({
    body: { instance_id: instance, gpu_count: 1, gpu_spec_id: 'cpu' },
  }),
  'instance.connection': ({ instance }) => ({ params: { id: instance } }),
  'instance.diagnose-connection': ({ instance }) => ({ params: { id: instance } }),
  'instance.start-web-terminal': ({ instance }) => ({ body: { instance_id: instance } }),
  'instance.stop-web-terminal': ({ instance }) => ({ body: { instance_id: instance } }),
  'instance.events': ({ instance }) => ({ params: { id: instance } }),
  'instance.follow-logs': ({ instance }) => ({ params: { id: instance } }),
  'instance.logs': ({ instance }) => ({ params: { id: instance } }),
  'instance.search-logs': ({ instance }) => ({ params: { id: instance }, query: { text: 'x' } }),
  'instance.download-log': ({ instance }) => ({ params: { id: instance } }),
  'instance.metrics': ({ instance }) => ({ params: { id: instance } }),
  'instance.get': ({ instance }) => ({ params: { id: instance } }),
  'file.list': ({ instance }) => ({ params: { id: instance } }),
  'file.plan-upload': ({ instance }) => ({
    params: { id: instance },
    body: { files: [{ path: '/root/a', size: 1, modified_at: 1 }] },
  }),
  'file.upload': ({ instance }) => ({
    params: { id: instance },
    query: { path: '/root/a', size: 0, modified_at: 1, offset: 0, length: 0 },
  }),
  'file.download': ({ instance }) => ({ params: { id: instance }, body: { path: '/root/a' } }),
  'file.make-folder': ({ instance }) => ({ params: { id: instance }, body: { path: '/root/a' } }),
  'file.rename': ({ instance }) => ({ params: { id: instance }, body: { path: '/root/a', to: '/root/b' } }),
  'file.remove': ({ instance }) => ({ params: { id: instance }, body: { path: '/root/a' } }),
  'instance.billing-preview': ({ instance }) => ({ params: { id: instance }, query: { change: 'renew' } }),
  'instance.renew': ({ instance }) => ({ body: { instance_id: instance, price_micro: '1' } }),
  'instance.toggle-renewal': ({ instance }) => ({ body: { instance_id: instance, auto_renew: false } }),
  'instance.toggle-subscription': ({ instance }) => ({
    body: { instance_id: instance, charge_cycle: 'weekly', price_micro: '1' },
  }),
  'instance.convert-charge-type': ({ instance }) => ({
    body: { instance_id: instance, charge_cycle: null, price_micro: '1' },
  }),
  'eip.bind': ({ instance }) => ({ body: { instance_id: instance, region_code: 'us-west' } }),
  'eip.unbind': ({ eip }) => ({ params: { id: eip } }),
  'deploy_template.get': ({ template }) => ({ params: { id: template } }),
  'deploy_template.rename': ({ template }) => ({ params: { id: template }, body: { name: 'theirs' } }),
  'deploy_template.remove': ({ template }) => ({ params: { id: template } }),
  'instance.setup': ({ instance }) => ({ params: { id: instance } }),
  'offer_watch.cancel': ({ watch }) => ({ params: { id: watch } }),
  'netvolume.price': ({ volume }) => ({ query: { id: volume } }),
  'netvolume.edit': ({ volume }) => ({ body: { id: volume, name: 'theirs' } }),
  'netvolume.grow': ({ volume }) => ({ params: { id: volume }, body: { size_gb: 2 } }),
  'netvolume.attach': ({ volume, instance }) => ({
    params: { id: volume },
    body: { instance_id: instance, path: '/data' },
  }),
  'netvolume.detach': ({ volume, instance }) => ({ params: { id: volume }, body: { instance_id: instance } }),
  'netvolume.delete': ({ volume }) => ({ params: { id: volume }, query: { name: 'not-its-name' } }),
  'netvolume.snapshots': ({ volume }) => ({ params: { id: volume } }),
  'netvolume.take-snapshot': ({ volume }) => ({ params: { id: volume } }),
  'netvolume.delete-snapshot': ({ volume, snapshot }) => ({ params: { id: volume, snapshot_id: snapshot } }),
  'netvolume.restore-snapshot': ({ volume, snapshot }) => ({
    params: { id: volume, snapshot_id: snapshot },
    body: { name: 'theirs', size_gb: 2 },
  }),
  'netvolume.schedule-snapshots': ({ volume }) => ({
    params: { id: volume },
    body: { every: 'daily', hour: 3, weekday: 0, keep: 7 },
  }),
  'netvolume.s3': ({ volume }) => ({ params: { id: volume } }),
  'netvolume.make-s3-key': ({ volume }) => ({ params: { id: volume }, body: { access: 'read_write' } }),
  'netvolume.rotate-s3-key': ({ volume, s3Key }) => ({ params: { id: volume, access_key_id: s3Key } }),
  'netvolume.revoke-s3-key': ({ volume, s3Key }) => ({ params: { id: volume, access_key_id: s3Key } }),
  'image.create': ({ instance }) => ({ body: { ...imageDetails, instance_id: instance } }),
  'image.edit': ({ image }) => ({ body: { ...imageDetails, id: image } }),
  'image.publish': ({ image }) => ({ params: { id: image } }),
  'image.cancel-publishing': ({ image }) => ({ params: { id: image } }),
  'image.make-private': ({ image }) => ({ params: { id: image } }),
  'image.cancel-build': ({ image }) => ({ params: { id: image } }),
  'image.delete': ({ image }) => ({ params: { id: image } }),
  'image.get': ({ image }) => ({ params: { id: image } }),
  'image.build-log': ({ image }) => ({ params: { id: image } }),
  'bill.add-budget': ({ instance }) => ({ body: { ...BUDGET, instance_id: instance } }),
  'bill.edit-budget': ({ budget }) => ({ params: { id: budget }, body: BUDGET }),
  'bill.remove-budget': ({ budget }) => ({ params: { id: budget } }),
  'bill.topup-state': ({ topup }) => ({ params: { id: topup } }),
  'bill.topup-cancel': ({ topup }) => ({ params: { id: topup } }),
  'bill.checkout-url': ({ topup }) => ({ query: { transaction_id: topup } }),
  'bill.payment-method-set': ({ method }) => ({ params: { id: method }, body: { is_default: true } }),
  'bill.payment-method-remove': ({ method }) => ({ params: { id: method } }),
  'bill.transaction-receipt': ({ transaction }) => ({ params: { id: transaction } }),
  'bill.order-line': ({ instance }) => ({
    query: { month: new Date().toISOString().slice(0, 7), line: `instance:${instance}` },
  }),
  'bill.invoice-page': ({ invoice }) => ({ params: { id: invoice } }),
  'bill.invoice-pdf': ({ invoice }) => ({ params: { id: invoice } }),
}

/** Of what the owner has. */
interface Ids {
  user: string
  instance: string
  transaction: string
  /** The public IP of that instance. */
  eip: string
  topup: string
  invoice: string
  /** A session that is not the one that asks. */
  session: string
  sshKey: string
  registry: string
  apiKey: string
  /** A film that was not made, and its only item. */
  creation: string
  creationItem: string
  template: string
  watch: string
  volume: string
  snapshot: string
  s3Key: string
  image: string
  budget: string
  method: string
}

interface Input {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
}

const PASSWORD = 'Harbour-Light-7'
const DAY_MS = 86_400_000
const BUDGET = { period: 'day', amount: 5_000, stops: false } as const
/** Nothing listens there. */
const NO_REGISTRY = 'localhost:1'

/** Calls that name a thing which is nobody's own; each with why. */
const OF_EVERYBODY: Record<string, string> = {
  'image.star': 'anybody may give an image of the community a star',
  'image.unstar': 'as image.star',
  'image.report': 'as image.star',
}

/** Calls that name a thing which is made with much else; each with where another customer's id is tried. */
const TRIED_ELSEWHERE: Record<string, string> = {
  'model.call-body': 'model-keeping.test.ts, with a call that is kept',
}

/** Changing calls that cannot be made here, or change nothing that is kept; each with why. */
const UNCHANGING: Record<string, string> = {
  'account.delete-account': 'closes the customer itself',
  'account.link': 'needs another service: the tests of linking close the customer',
  'file.plan-upload': 'only asks a machine, which the end of the account takes away',
  'file.upload': 'changes what a machine holds, which goes with the account',
  'file.make-folder': 'as file.upload',
  'file.rename': 'as file.upload',
  'file.remove': 'as file.upload',
  'image.upload-cover': 'needs a picture: the tests of covers close the customer',
  'model.upload-picture': 'needs a picture, which goes with the account',
  'instance.stop-web-terminal': 'closes what is open, which the end of the session closes too',
}

/** What a changing call needs to get as far as its change. */
const CHANGES: Record<string, () => Input> = {
  'account.update-user': () => ({
    query: { id: `berth/${ownerEmail}`, columns: 'display_name' },
    body: { displayName: 'Late' },
  }),
  'account.set-password': () => ({
    body: { userOwner: 'berth', userName: ownerEmail, oldPassword: PASSWORD, newPassword: 'Late-Harbour-7' },
  }),
  'account.confirm-sign-in': () => ({ body: { password: PASSWORD } }),
  'notification.set': () => ({ body: DEFAULT_CHOICE }),
  'bill.billing-address-set': () => ({ body: { name: 'Late', address: '', tax_id: '' } }),
  'ssh_key.add': () => ({ body: { public_key: publicKey() } }),
  'registry.add': () => ({ body: login() }),
  'api_key.create': () => ({ body: { name: 'late' } }),
  'api_key.set-keeping': () => ({ body: { days: 7 } }),
  'check_in.take': () => ({ body: { time_zone: 'UTC' } }),
  'referral.choose': () => ({ params: { quarter: '2026-Q1' }, body: { reward_type: 'bonus' } }),
  'referral.set-paypal': () => ({ body: { paypal_account: 'late@example.org' } }),
  'referral.confirm-paypal': () => ({ body: { token: 'late' } }),
  'model.chat': () => ({
    body: { model: 'berth/demo-chat', messages: [{ role: 'user', content: 'late' }], max_tokens: 1 },
  }),
  'model.generate-image': () => ({
    body: { model: 'berth/demo-image', prompt: 'late', size: '256x256' },
  }),
  'model.make-images': () => ({
    body: { model: 'berth/demo-image', prompt: 'late', size: '256x256', count: 1 },
  }),
  'model.make-video': () => ({
    body: { model: 'berth/demo-video', prompt: 'late', size: '640x360', seconds: 2 },
  }),
  'instance.deploy': () => ({ body: deployBody('berth-base') }),
  'deploy_template.add': () => ({ body: template() }),
  'offer_watch.add': () => ({ body: watch() }),
  'netvolume.create': () => ({ body: volume() }),
  'image.star': () => ({ params: { id: 'im-zzzzzzz' } }),
  'image.unstar': () => ({ params: { id: 'im-zzzzzzz' } }),
  'image.report': () => ({
    params: { id: 'im-zzzzzzz' },
    body: { kind: 'broken', text: 'It does not start.' },
  }),
  'bill.topup': () => ({
    body: { amount: 2_500, currency: 'USD', platform_name: 'testcard', source: '4242 4242 4242 4242' },
  }),
  'bill.coupon-apply': () => ({ body: { code: 'LAUNCH20' } }),
  'bill.payment-method-add': () => ({ body: { platform_name: 'testcard', source: '4242 4242 4242 4242' } }),
  'bill.payment-intent': () => ({
    body: { payment_method: '5555 5555 5555 4444', payment_method_type: 'card' },
  }),
  'instance.set-resume': () => ({ body: { by_default: true, all: true } }),
  'bill.auto-topup-set': () => ({
    body: { enabled: false, threshold: 500, amount: 2_500, monthly_cap: 5_000, payment_method_id: null },
  }),
}

const signedIn = calls.filter(call => call.audience !== 'guest')
const verifiedOnly = calls.filter(call => call.audience === 'verified')
const changing = signedIn.filter(call => !call.readOnly && !(call.operation in UNCHANGING))
const owned = calls.filter(call => call.operation in INPUTS)

let gateway: TestGateway
let owner: string
let other: string
let unverified: string
let ids: Ids
let ownerId: string
let ownerEmail: string

beforeAll(async () => {
  gateway = await startGateway({ privateRegistries: [NO_REGISTRY] })
  ownerEmail = 'owner@example.org'
  owner = await signUpOnly(ownerEmail)
  const [row] = await gateway.database.db
    .update(userAccount)
    .set({ emailVerifiedAt: new Date() })
    .where(eq(userAccount.email, ownerEmail))
    .returning({ id: userAccount.id })
  ownerId = row?.id ?? ''
  await gateway.grant(ownerId, 5_000)
  other = (await gateway.signUp()).token
  unverified = await signUpOnly('unverified@example.org')
  ids = await ownSomething()
})
afterAll(() => gateway.stop())

test('[R6.4] every call has a row that says who may make it', () => {
  expect(Object.fromEntries(calls.map(call => [call.operation, call.audience]))).toEqual(WHO)
})

test('[R6.4] every call that names a thing by id is walked with another customer’s id', () => {
  const named = calls.filter(
    call => call.path.includes('{id}') || (call.body && 'instance_id' in (shapeOf(call.body) ?? {})),
  )
  const walked = { ...INPUTS, ...OF_EVERYBODY, ...TRIED_ELSEWHERE }
  expect(named.map(call => call.operation).filter(operation => !(operation in walked))).toEqual([])
})

describe('[R6.1] a guest is asked to sign in', () => {
  test.each(signedIn.map(call => [call.operation, call] as const))('%s', async (_, call) => {
    expect(await ask(call, null)).toMatchObject({ httpStatus: 401, envelope: { code: 'login_required' } })
  })
})

describe('[R6.3] [R4.2] a customer whose address is not verified is told so', () => {
  test.each(verifiedOnly.map(call => [call.operation, call] as const))('%s', async (_, call) => {
    expect(await ask(call, unverified)).toMatchObject({
      httpStatus: 403,
      envelope: { code: 'account_not_activated' },
    })
  })

  test('and may still look at what is theirs', async () => {
    expect((await ask(getAccount, unverified)).httpStatus).toBe(200)
    expect((await ask(listInstances, unverified)).envelope).toMatchObject({ status: 'ok', data: [] })
  })
})

describe('a session of somebody who signed in a while ago', () => {
  let idle: string
  beforeAll(async () => {
    const { token, userId } = await gateway.signUp()
    idle = token
    const provenAt = new Date(Date.now() - RECENT_SIGN_IN_MS - 1_000)
    await gateway.database.db.update(session).set({ provenAt }).where(eq(session.userId, userId))
  })

  test.each(signedIn.map(call => [call.operation, call] as const))('%s', async (_, call) => {
    const { envelope } = await ask(call, idle)
    const code = 'code' in envelope ? envelope.code : null
    if (call.proof === 'recent') expect(code).toBe('recent_sign_in_required')
    else expect(code).not.toBe('recent_sign_in_required')
  })
})

test('[B10] an API key is no session: it makes no other key, and confirms nothing', async () => {
  const { token } = await gateway.signUp()
  const { key } = await gateway.data(createApiKey, { body: { name: 'thief' } }, { token })
  for (const call of signedIn.filter(({ proof }) => proof !== 'none')) {
    expect(await ask(call, key)).toMatchObject({ httpStatus: 401, envelope: { code: 'login_expired' } })
  }
})

describe('[R6.4] another customer gets the same answer for the owner’s id as for one that does not exist', () => {
  test.each(owned.map(call => [call.operation, call] as const))('%s', async (operation, call) => {
    const input = INPUTS[operation]
    const foreign = await ask(call, other, input?.(ids))
    const missing = await ask(
      call,
      other,
      input?.({
        user: '01890000-0000-7000-8000-000000000000',
        instance: 'i-zzzzzzz',
        transaction: 't_01890000-0000-7000-8000-000000000000',
        topup: 't_01890000-0000-7000-8000-000000000000',
        invoice: 'inv_01890000-0000-7000-8000-000000000000',
        eip: '01890000-0000-7000-8000-000000000000',
        session: '01890000-0000-7000-8000-000000000000',
        sshKey: '01890000-0000-7000-8000-000000000000',
        registry: '01890000-0000-7000-8000-000000000000',
        apiKey: '01890000-0000-7000-8000-000000000000',
        creation: '01890000-0000-7000-8000-000000000000',
        creationItem: '01890000-0000-7000-8000-000000000000',
        template: '01890000-0000-7000-8000-000000000000',
        watch: '01890000-0000-7000-8000-000000000000',
        volume: 'v-zzzzzzz',
        snapshot: 's-zzzzzzz',
        s3Key: 'BKIAAAAAAAAAAAAAAAAA',
        image: 'im-zzzzzzz',
        budget: '01890000-0000-7000-8000-000000000000',
        method: 'm_01890000-0000-7000-8000-000000000000',
      }),
    )
    expect(foreign).toMatchObject({ httpStatus: 404, envelope: { code: 'not_found' } })
    expect({ ...foreign.envelope, request_id: '' }).toEqual({ ...missing.envelope, request_id: '' })
  })
})

describe('[R6.2] the owner, verified, is let through', () => {
  test.each(owned.map(call => [call.operation, call] as const))('%s', async (operation, call) => {
    const answer = await ask(call, owner, INPUTS[operation]?.(ids))
    // The state may forbid it by the time it is its turn; a wall for strangers it must not meet.
    expect([401, 403, 404]).not.toContain(answer.httpStatus)
    if (operation === 'instance.terminate') ids = await ownSomething()
    if (operation === 'model.delete-creation') ids = { ...ids, ...(await ownFilm()) }
    if (operation === 'bill.payment-method-remove') ids = { ...ids, method: await keptMethod() }
    if (operation === 'image.delete') ids = { ...ids, image: await keptOf(ownerId) }
    if (operation === 'bill.remove-budget') ids = { ...ids, budget: await ownBudget() }
    if (operation === 'registry.remove') ids = { ...ids, ...(await ownKeys()) }
  })
})

describe('[R1.7] a call that was let in just before its account was closed changes nothing', () => {
  // Last, since nothing can be done for that customer afterwards.
  beforeAll(async () => {
    // With an instance that runs: some calls are refused for others, whoever asks.
    ids = await ownSomething()
    const at = new Date()
    await gateway.database.db.transaction(tx => closeCustomer(tx, { userId: ownerId, at }))
  })
  test.each(changing.map(call => [call.operation, call] as const))('%s', async (operation, call) => {
    const input = { ...INPUTS[operation]?.(ids), ...CHANGES[operation]?.() }
    expect(await ask(call, owner, input)).toMatchObject({ envelope: { code: 'login_expired' } })
  })
})

function ask(call: Call, token: string | null, input: Input = {}): Promise<CallAnswer<unknown>> {
  const filled = { ...input, ...(call.body && input.body === undefined ? { body: {} } : {}) }
  return sendCall(gateway.origin, call, filled, token === null ? {} : { token })
}

async function keptMethod(): Promise<string> {
  const body = { platform_name: 'testcard', source: '4242 4242 4242 4242' }
  return (await gateway.data(addPaymentMethod, { body }, { token: owner })).method.id
}

async function ownSomething(): Promise<Ids> {
  const images = await gateway.data(officialImages, {})
  const { instance_id } = await gateway.data(
    deployInstance,
    {
      body: {
        ...deployBody(images.find(({ available }) => available)?.id ?? ''),
        tcp_ports: [22],
        public_ip: 'dedicated',
      },
    },
    { token: owner },
  )
  const own = async () =>
    (await gateway.data(listInstances, {}, { token: owner })).find(one => one.instance_id === instance_id)
  await vi.waitUntil(async () => (await own())?.status === 'running', { timeout: 60_000 })
  const eip = (await own())?.eip?.id ?? ''
  const list = await fetch(`${gateway.origin}/gateway/api/bill/transaction?type=usage`, {
    headers: { authorization: `Bearer ${owner}` },
  })
  const { data } = (await list.json()) as { data: { items: { id: string }[] } }
  const { identity } = gateway.gateway
  const secret = await identity.createSignInLink(ownerId)
  await identity.signInByLink(secret, { address: '127.0.0.1', userAgent: 'second', stay: true })
  const sessions = await gateway.data(listSessions, {}, { token: owner })
  const session = sessions.find(({ current }) => !current)?.id ?? ''
  const transaction = data.items[0]?.id ?? ''
  const { transaction_id: topup } = await gateway.data(
    topupCall,
    { body: { amount: 100, currency: 'USD', platform_name: 'testcard', source: '4242424242424242' } },
    { token: owner },
  )
  const invoices = await gateway.data(listInvoices, {}, { token: owner })
  const invoice = invoices.items[0]?.id ?? ''
  return {
    user: ownerId,
    instance: instance_id,
    transaction,
    eip,
    topup,
    invoice,
    session,
    ...(await ownKeys()),
    ...(await ownFilm()),
  }
}

async function ownFilm() {
  const { run, item } = failedFilm(ownerId)
  await gateway.database.db.insert(creation).values(run)
  await gateway.database.db.insert(creationItem).values(item)
  return { creation: run.id, creationItem: item.id }
}

function deployBody(imageId: string) {
  return {
    name: 'mine',
    region_code: 'us-west',
    gpu_spec_id: 'cpu',
    gpu_count: 1,
    image_id: imageId,
    container_disk_gb: 20,
  }
}

function publicKey(): string {
  const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const fields = [Buffer.from('ssh-ed25519'), key].flatMap(part => [Buffer.of(0, 0, 0, part.length), part])
  return `ssh-ed25519 ${Buffer.concat(fields).toString('base64')}`
}

function login() {
  return { name: randomUUID(), registry: NO_REGISTRY, username: 'anna', password: 'secret' }
}

/** The account's own. */
async function ownBudget(): Promise<string> {
  const [found] = await gateway.data(listBudgets, {}, { token: owner })
  return (found ?? (await gateway.data(addBudget, { body: BUDGET }, { token: owner }))).id
}

function template() {
  return { name: randomUUID(), setup: deployBody('berth-base') }
}

function volume() {
  return { name: `v-${randomUUID()}`, region_code: 'us-west', size_gb: 1 }
}

/** An image of a customer's own that is kept. */
async function keptOf(userId: string): Promise<string> {
  const row = keptImage(userId)
  await gateway.database.db.insert(ownImage).values(row)
  return row.id
}

function watch() {
  const until = new Date(Date.now() + DAY_MS).toISOString()
  return { region_code: 'us-west', gpu_spec_id: 'b200', gpu_count: 1, until }
}

/** A snapshot of the owner's volume, which need not be there for anybody to be refused it. */
async function snapshotOf(volumeId: string): Promise<string> {
  const now = new Date()
  const row = {
    id: systemIds.snapshotId(),
    userId: ownerId,
    volumeId,
    engineId: 'none',
    gbMax: 2,
    microPerGbDay: 0n,
  }
  const ready = { status: 'ready', usedBytes: 1, sizeGb: 1, observedAt: now } as const
  const times = { statusSince: now, nextAttemptAt: now, createdAt: now }
  await gateway.database.db.insert(volumeSnapshot).values({ ...row, ...ready, ...times, madeBy: 'hand' })
  return row.id
}

async function ownKeys(): Promise<
  Pick<
    Ids,
    | 'sshKey'
    | 'registry'
    | 'apiKey'
    | 'template'
    | 'watch'
    | 'volume'
    | 'snapshot'
    | 's3Key'
    | 'image'
    | 'budget'
    | 'method'
  >
> {
  const token = { token: owner }
  const [ssh, registry, api, kept, watched, made] = [
    await gateway.data(addSshKey, { body: { public_key: publicKey() } }, token),
    await gateway.data(addRegistryCredential, { body: login() }, token),
    await gateway.data(createApiKey, { body: { name: 'mine' } }, token),
    await gateway.data(addDeployTemplate, { body: template() }, token),
    await gateway.data(watchOffer, { body: watch() }, token),
    await gateway.data(createVolume, { body: volume() }, token),
  ]
  const s3 = await gateway.data(makeS3Key, { params: { id: made.id }, body: { access: 'read_write' } }, token)
  return {
    sshKey: ssh.id,
    registry: registry.id,
    apiKey: api.id,
    template: kept.id,
    budget: await ownBudget(),
    watch: watched.id,
    volume: made.id,
    snapshot: await snapshotOf(made.id),
    s3Key: s3.access_key_id,
    image: await keptOf(ownerId),
    method: await keptMethod(),
  }
}

async function signUpOnly(email: string): Promise<string> {
  const send = (path: string, body: object) =>
    fetch(`${gateway.origin}/gateway/api/account/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ application: 'berth-console', organization: 'berth', ...body }),
    }).then(answer => answer.json() as Promise<{ data: string }>)
  await send('signup', { username: email, email, name: 'New', password: PASSWORD, agreement: true })
  return (await send('login', { type: 'token', username: email, password: PASSWORD })).data
}

/** The fields of an object schema; undefined for any other. */
function shapeOf(schema: object): Record<string, unknown> | undefined {
  return 'shape' in schema ? (schema.shape as Record<string, unknown>) : undefined
}
