import { randomUUID } from 'node:crypto'
import {
  endOtherSessions,
  endSession,
  getAccount,
  listMailbox,
  listSessions,
  login,
  sendResetPasswordEmail,
  sendVerifyEmail,
  signup,
  updateUser,
  verifyEmail,
} from '@berth/contract/account'
import { confirmSignIn, listAuditLog, sendSignInCode, setPassword } from '@berth/contract/account-security'
import { beginProviderSignIn, link, unlink } from '@berth/contract/account-sign-in'
import { createApiKey, editApiKey, revokeApiKey } from '@berth/contract/api-keys'
import { setAutoTopup } from '@berth/contract/auto-topup'
import { cancelTopup, listTransactions, topup } from '@berth/contract/billing'
import { addBudget, editBudget, removeBudget } from '@berth/contract/budgets'
import type { Call, CallInput, ChangingCall } from '@berth/contract/call'
import { calls } from '@berth/contract/calls'
import { checkIn } from '@berth/contract/check-in'
import { deleteCreation, notifyCreation, starCreation } from '@berth/contract/creations'
import { applyCoupon } from '@berth/contract/credits'
import {
  addDeployTemplate,
  removeDeployTemplate,
  renameDeployTemplate,
} from '@berth/contract/deploy-templates'
import {
  convertChargeType,
  renewInstance,
  toggleRenewal,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import {
  deployInstance,
  editInstance,
  listInstances,
  restartInstance,
  startInstance,
  startWebTerminal,
  stopInstance,
  stopWebTerminal,
  terminateInstance,
} from '@berth/contract/instances'
import { listInvoices, setBillingAddress } from '@berth/contract/invoices'
import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import { setModelKeeping } from '@berth/contract/model-keeping'
import { setNotifications } from '@berth/contract/notifications'
import { cancelOfferWatch, watchOffer } from '@berth/contract/offer-watches'
import {
  cancelImageBuild,
  cancelPublishing,
  createImage,
  deleteImage,
  editImage,
  makeImagePrivate,
  publishImage,
  reportImage,
  starImage,
  unstarImage,
} from '@berth/contract/own-images'
import {
  addPaymentMethod,
  beginPayment,
  removePaymentMethod,
  setPaymentMethod,
} from '@berth/contract/payment-methods'
import { bindPublicIp, unbindPublicIp } from '@berth/contract/public-ip-calls'
import {
  chooseSettlement,
  confirmPaypalAccount,
  removePaypalAccount,
  resendPaypalMail,
  setPaypalAccount,
} from '@berth/contract/referral'
import {
  addRegistryCredential,
  checkRegistryCredential,
  editRegistryCredential,
  removeRegistryCredential,
} from '@berth/contract/registries'
import { setResume } from '@berth/contract/resume'
import { addSshKey, removeSshKey } from '@berth/contract/ssh-keys'
import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'
import { makeS3Key, revokeS3Key, rotateS3Key } from '@berth/contract/volume-s3'
import {
  deleteSnapshot,
  listSnapshots,
  restoreSnapshot,
  scheduleSnapshots,
  takeSnapshot,
} from '@berth/contract/volume-snapshots'
import {
  createVolume,
  deleteVolume,
  editVolume,
  growVolume,
  listVolumes,
  type Volume,
} from '@berth/contract/volumes'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { thirdOfTurn } from '../../../scripts/test/turns.ts'
import { communityCopy, imageDetails, keptImage } from '../src/domains/images/images-fixture.ts'
import { communityImage, ownImage } from '../src/domains/images/tables.ts'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { failedFilm } from '../src/domains/models/creations/creations-fixture.ts'
import { creation, creationFile, creationItem } from '../src/domains/models/creations/tables.ts'
import { DEFAULT_CHOICE } from '../src/domains/notifications/choices.ts'
import { quarterAt } from '../src/domains/referral/quarters.ts'
import { LOGIN, startRegistry, type TestRegistry } from '../src/domains/registries/registry-fixture.ts'
import { ed25519Bytes, lineOf } from '../src/domains/ssh-keys/public-key-fixture.ts'
import { createIdentityProviders } from '../src/drivers/sign-in/create-providers.ts'
import { systemClock } from '../src/platform/clock.ts'
import { eventually, loginBody, names, PASSWORD, secretIn, signUpBody } from './identity-bench.ts'
import { OIDC_CLIENT, type OidcServer, passService, startOidcServer } from './oidc-server.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/**
 * Goal: a page never goes on showing what a change has made old: every read whose answer a call changes is named in
 * its `stales`.
 * Method: each changing call of the contract is made over HTTP by a customer, whose reads are all asked before and
 * after it. The clock stands still meanwhile, so that nothing differs by the time alone. A whole run makes a third of
 * the calls, and the others on the days after it.
 */

/** Changing calls whose readers are not compared, each with the reason. */
const NOT_COMPARED: Record<string, string> = {
  'account.login': 'the browser that signs in has read nothing; other browsers are told nothing at all',
  'account.login-by': 'as account.login',
  'account.signup': 'nobody has read anything of an account that was not there',
  'account.logout': 'ends the session that reads',
  'account.delete-account': 'ends the session that reads',
  'account.reset-password': 'ends the sessions that read',
  'file.plan-upload': 'only asks the machine, and needs one in which programs run',
  'file.upload': 'changes what a machine holds, which is read anew by whoever shows it',
  'file.download': 'only reads, and needs a machine in which programs run',
  'instance.download-log': 'only reads, and what it gives opens once',
  'file.make-folder': 'as file.upload',
  'file.rename': 'as file.upload',
  'file.remove': 'as file.upload',
  'model.chat':
    'its page reads anew what it has changed once the answer is whole, which may be minutes later',
  'model.generate-image': 'as model.chat',
  'model.make-images': 'what it begins goes on behind the answer, and its page asks until it is over',
  'model.make-video': 'as model.make-images',
  'model.retry-creation': 'as model.make-images',
  'model.stop-creation': 'as model.make-images: what it ends was going on',
  'model.upload-picture': 'nothing has it until something is made after it, but the bytes that are kept',
  'image.upload-cover': 'nothing that is read has it until an image is made or edited with it',
}

/** Reads that are not compared, each with the reason. */
const UNREAD: Record<string, string> = {
  'model.days': 'its thirty days move with the clock, and nothing that a customer does is in them at once',
  'mailbox.list': 'mails come behind the answer, some of them much later: its page asks every few seconds',
  'account.get-captcha': 'another one each time',
  'file.list': 'asks the machine each time, and is kept by nobody',
  'instance.diagnose-connection': 'tried anew each time that its button is pressed, and kept by nobody',
  'bill.invoice-pdf': 'an address that is another one each time',
  'model.get-creation': 'says of one what the list says of all, and is made old by the same',
  'instance.metrics': 'sampled by a loop, whatever is called: its page asks again and again',
}

/**
 * How long nothing may differ until what goes on behind an answer is taken to be over.
 */
const QUIET_MS = 150
/** Of each kind of thing, the newest are read: the one that a call is about, and one that it is not about. */
const READ_OF_EACH = 2
/** In these one sees what goes on behind an answer: while they change, it is not over. */
const TELLING = [
  'account.audit-log',
  'bill.balance',
  'bill.transaction',
  'image.custom',
  'instance.events',
  'instance.list',
  'netvolume.list',
]
/** A CPU machine, by the week and by the hour. */
const PREPAID = { billing_type: 'prepay', charge_cycle: 'weekly' } as const
const WEEK = '12090000'
const HOUR = '80000'
const WITH_PORT = { tcp_ports: [22] }
const BUDGET = { period: 'day', amount: 5_000, stops: false } as const
const WATCHED_MS = 3_600_000
const PAYPAL_MAIL_WAIT_MS = 61_000
const SPENDING_CARD = '4242424242424242'
const ASKING_CARD = '4000002500003155'

const all: readonly Call[] = calls
// What a stream tells, it tells by itself, whatever was called.
const reads = all.filter(({ readOnly, streams, operation }) => readOnly && !streams && !(operation in UNREAD))
const tellingReads = reads.filter(({ operation }) => TELLING.includes(operation))

/** Stands still while it is held. */
const clock = {
  heldAt: null as Date | null,
  aheadMs: 0,
  now: () => clock.heldAt ?? new Date(systemClock.now().getTime() + clock.aheadMs),
}

interface Customer {
  token: string
  email: string
}

/** A change that is ready to be made, and whose reads are compared. */
interface Ready<C extends ChangingCall> {
  customer: Customer
  input: CallInput<C>
}

interface Scene {
  call: ChangingCall
  /** What is different about this one, where a call has several. */
  name: string
  prepare: () => Promise<Ready<ChangingCall>>
}

function scene<C extends ChangingCall>(call: C, prepare: () => Promise<Ready<NoInfer<C>>>, name = ''): Scene {
  // What is prepared goes to this call alone.
  return { call, name, prepare: prepare as unknown as Scene['prepare'] }
}

let gateway: TestGateway
let yard: TestRegistry
let oidc: OidcServer
/** More than all scenes deploy, twice over where one is tried again. */
const INSTANCES_MAX = 100
/** Has money, a verified address, and one of each thing. */
let owner: Customer & { userId: string }
beforeAll(async () => {
  yard = await startRegistry('token')
  oidc = await startOidcServer()
  const acme = { type: 'oidc' as const, issuer: oidc.issuer, scopes: 'openid email profile', ...OIDC_CLIENT }
  gateway = await startGateway({
    clock,
    // Tens of thousands of answers, which other tests hold to the contract.
    checkAnswers: false,
    instancesPerCustomer: INSTANCES_MAX,
    privateRegistries: [yard.host],
    identityProviders: createIdentityProviders([{ ...acme, name: 'acme', display_name: 'Acme' }], { clock }),
  })
  owner = await payer()
  await instance('running')
  await addedKey()
  await addedCredential()
  await madeApiKey()
})
afterAll(async () => {
  await gateway.stop()
  await oidc.stop()
  await yard.close()
})

const SCENES: Scene[] = [
  scene(sendVerifyEmail, async () => {
    const customer = await unverified()
    await mailedSecret(customer.email)
    clock.aheadMs += ACTIVATION_RESEND_WAIT_MS
    return { customer, input: { body: { ...names, email: customer.email, method: 'signup' as const } } }
  }),
  scene(verifyEmail, async () => {
    const customer = await unverified()
    const token = await mailedSecret(customer.email)
    return { customer, input: { query: { application: names.application, token } } }
  }),
  scene(sendResetPasswordEmail, async () => ({
    customer: owner,
    input: { body: { ...names, email: owner.email } },
  })),
  scene(updateUser, async () => ({
    customer: owner,
    input: {
      query: { id: `${names.organization}/${owner.email}`, columns: 'display_name' as const },
      body: { displayName: 'Grace' },
    },
  })),
  scene(endSession, async () => {
    const customer = await withPassword()
    await signIn(customer.email)
    const sessions = await gateway.data(listSessions, {}, customer)
    return { customer, input: { params: { id: sessions.find(({ current }) => !current)?.id ?? '' } } }
  }),
  scene(endOtherSessions, async () => {
    const customer = await withPassword()
    await signIn(customer.email)
    return { customer, input: {} }
  }),
  scene(setPassword, async () => {
    const customer = await withPassword()
    await signIn(customer.email)
    const { owner: userOwner, name: userName } = await gateway.data(getAccount, {}, customer)
    const body = { userOwner, userName, oldPassword: PASSWORD, newPassword: 'Other-Harbour-8' }
    return { customer, input: { body } }
  }),
  scene(confirmSignIn, async () => ({
    customer: await withPassword(),
    input: { body: { password: PASSWORD } },
  })),
  scene(sendSignInCode, async () => ({ customer: owner, input: {} })),
  scene(beginProviderSignIn, async () => ({
    customer: owner,
    input: { body: { ...names, provider: 'acme', method: 'link' as const } },
  })),
  scene(link, async () => ({ customer: owner, input: { body: await visitOf(owner) } })),
  scene(unlink, async () => {
    const customer = await withPassword()
    await gateway.data(link, { body: await visitOf(customer) }, customer)
    return { customer, input: { body: { providerType: 'Custom', providerName: 'acme' } } }
  }),
  scene(setBillingAddress, async () => ({
    customer: owner,
    input: { body: { name: 'Anna GmbH', address: 'Weg 1', tax_id: '' } },
  })),
  scene(setNotifications, async () => ({
    customer: owner,
    input: { body: { ...DEFAULT_CHOICE, alert_hours: [] } },
  })),
  scene(addSshKey, async () => ({ customer: owner, input: { body: sshKey() } })),
  scene(removeSshKey, async () => ({ customer: owner, input: { params: await addedKey() } })),
  scene(addRegistryCredential, async () => ({ customer: owner, input: { body: credential() } })),
  scene(editRegistryCredential, async () => ({
    customer: owner,
    input: { params: await addedCredential(), body: { name: `renamed ${randomUUID()}` } },
  })),
  scene(checkRegistryCredential, async () => ({
    customer: owner,
    input: { params: await addedCredential() },
  })),
  scene(removeRegistryCredential, async () => ({
    customer: owner,
    input: { params: await addedCredential() },
  })),
  scene(createApiKey, async () => ({ customer: owner, input: { body: { name: 'another' } } })),
  scene(checkIn, async () => ({ customer: await gateway.signUp(), input: { body: { time_zone: 'UTC' } } })),
  scene(editApiKey, async () => ({
    customer: owner,
    input: {
      params: await madeApiKey(),
      body: {
        name: 'renamed',
        models: null,
        spend_limit: null,
        requests_per_minute: 10,
        tokens_per_minute: null,
      },
    },
  })),
  scene(revokeApiKey, async () => ({ customer: owner, input: { params: await madeApiKey() } })),
  scene(notifyCreation, async () => {
    const { run } = await film()
    return { customer: owner, input: { params: { id: run.id }, body: { mail: true } } }
  }),
  scene(starCreation, async () => {
    const fileId = randomUUID()
    const { db } = gateway.database
    const file = { id: fileId, digest: fileId, type: 'video/webm', bytes: 1, createdAt: clock.now() }
    await db.insert(creationFile).values(file)
    const { item } = await film({ status: 'saved', errorCode: null, fileId })
    return { customer: owner, input: { params: { id: item.id }, body: { starred: true } } }
  }),
  scene(deleteCreation, async () => {
    const { run } = await film()
    return { customer: owner, input: { params: { id: run.id } } }
  }),
  scene(deployInstance, async () => ({ customer: owner, input: { body: deployBody() } })),
  scene(editInstance, async () => ({
    customer: owner,
    input: { body: { instance_id: await instance('running'), name: 'renamed' } },
  })),
  scene(restartInstance, async () => ({
    customer: owner,
    input: { params: { id: await instance('running') } },
  })),
  scene(stopInstance, async () => ({
    customer: owner,
    input: { params: { id: await instance('running') } },
  })),
  scene(startInstance, async () => {
    const body = { instance_id: await instance('stopped'), gpu_count: 1, gpu_spec_id: 'cpu' }
    return { customer: owner, input: { body } }
  }),
  scene(terminateInstance, async () => ({
    customer: owner,
    input: { params: { id: await instance('running') } },
  })),
  scene(
    terminateInstance,
    async () => ({ customer: owner, input: { params: { id: await instance('stopped') } } }),
    'a stopped one',
  ),
  scene(renewInstance, async () => ({
    customer: owner,
    input: { body: { instance_id: await instance('running', PREPAID), price_micro: WEEK } },
  })),
  scene(toggleRenewal, async () => ({
    customer: owner,
    input: { body: { instance_id: await instance('running', PREPAID), auto_renew: false } },
  })),
  scene(toggleSubscription, async () => ({
    customer: owner,
    input: {
      body: { instance_id: await instance('running'), charge_cycle: 'weekly' as const, price_micro: WEEK },
    },
  })),
  scene(convertChargeType, async () => ({
    customer: owner,
    input: {
      body: { instance_id: await instance('running', PREPAID), charge_cycle: null, price_micro: HOUR },
    },
  })),
  scene(bindPublicIp, async () => ({
    customer: owner,
    input: { body: { region_code: 'us-west', instance_id: await instance('running', WITH_PORT) } },
  })),
  scene(unbindPublicIp, async () => ({ customer: owner, input: { params: await boundIp() } })),
  scene(setModelKeeping, async () => ({ customer: owner, input: { body: { days: 7 } } })),
  scene(setResume, async () => {
    await instance('running')
    return { customer: owner, input: { body: { by_default: true, all: true } } }
  }),
  scene(addBudget, async () => ({
    customer: owner,
    input: { body: { ...BUDGET, instance_id: await instance('running') } },
  })),
  scene(editBudget, async () => ({
    customer: owner,
    input: { params: await setBudget(), body: { ...BUDGET, amount: 6_000 } },
  })),
  scene(removeBudget, async () => ({ customer: owner, input: { params: await setBudget() } })),
  scene(chooseSettlement, async () => ({
    customer: owner,
    input: { params: { quarter: quarterAt(clock.now()).name }, body: { reward_type: 'bonus' as const } },
  })),
  scene(setPaypalAccount, async () => ({
    customer: await gateway.signUp(),
    input: { body: { paypal_account: 'mira@example.org' } },
  })),
  scene(confirmPaypalAccount, async () => {
    const { email, ...customer } = await withPaypal()
    return { customer: { ...customer, email }, input: { body: { token: await paypalSecret(email) } } }
  }),
  scene(resendPaypalMail, async () => {
    const customer = await withPaypal()
    clock.aheadMs += PAYPAL_MAIL_WAIT_MS
    return { customer, input: {} }
  }),
  scene(removePaypalAccount, async () => ({ customer: await withPaypal(), input: {} })),
  scene(addDeployTemplate, async () => ({
    customer: owner,
    input: { body: { name: randomUUID(), setup: deployBody() } },
  })),
  scene(renameDeployTemplate, async () => ({
    customer: owner,
    input: { params: await keptTemplate(), body: { name: randomUUID() } },
  })),
  scene(removeDeployTemplate, async () => ({ customer: owner, input: { params: await keptTemplate() } })),
  scene(watchOffer, async () => ({ customer: owner, input: { body: watched() } })),
  scene(cancelOfferWatch, async () => {
    const { id } = await gateway.data(watchOffer, { body: watched() }, owner)
    return { customer: owner, input: { params: { id } } }
  }),
  scene(createVolume, async () => ({ customer: owner, input: { body: volumeBody() } })),
  scene(editVolume, async () => ({
    customer: owner,
    input: { body: { id: (await readyVolume()).id, name: randomUUID() } },
  })),
  scene(growVolume, async () => ({
    customer: owner,
    input: { params: { id: (await readyVolume()).id }, body: { size_gb: 20 } },
  })),
  scene(attachVolume, async () => ({
    customer: owner,
    input: {
      params: { id: (await readyVolume()).id },
      body: { instance_id: await instance('stopped'), path: '/data' },
    },
  })),
  scene(detachVolume, async () => {
    const [{ id }, instance_id] = [await readyVolume(), await instance('stopped')]
    await gateway.data(attachVolume, { params: { id }, body: { instance_id, path: '/data' } }, owner)
    return { customer: owner, input: { params: { id }, body: { instance_id } } }
  }),
  scene(deleteVolume, async () => {
    const { id, name } = await readyVolume()
    return { customer: owner, input: { params: { id }, query: { name } } }
  }),
  scene(takeSnapshot, async () => ({ customer: owner, input: { params: { id: (await readyVolume()).id } } })),
  scene(deleteSnapshot, async () => ({ customer: owner, input: { params: await readySnapshot() } })),
  scene(restoreSnapshot, async () => ({
    customer: owner,
    input: { params: await readySnapshot(), body: { name: randomUUID(), size_gb: 10 } },
  })),
  scene(scheduleSnapshots, async () => ({
    customer: owner,
    input: {
      params: { id: (await readyVolume()).id },
      body: { every: 'daily' as const, hour: 3, weekday: 0, keep: 7 },
    },
  })),
  scene(makeS3Key, async () => ({
    customer: owner,
    input: { params: { id: (await readyVolume()).id }, body: { access: 'read_only' as const } },
  })),
  scene(rotateS3Key, async () => ({ customer: owner, input: { params: await madeS3Key() } })),
  scene(revokeS3Key, async () => ({ customer: owner, input: { params: await madeS3Key() } })),
  scene(createImage, async () => ({
    customer: owner,
    input: { body: { ...imageDetails, instance_id: await instance('running') } },
  })),
  scene(editImage, async () => ({
    customer: owner,
    input: { body: { ...imageDetails, id: await image({}), name: 'other' } },
  })),
  scene(deleteImage, async () => ({ customer: owner, input: { params: { id: await image({}) } } })),
  scene(publishImage, async () => ({ customer: owner, input: { params: { id: await image({}) } } })),
  scene(cancelPublishing, async () => {
    const id = await image({ status: 'review', reviewSince: new Date() })
    return { customer: owner, input: { params: { id } } }
  }),
  scene(makeImagePrivate, async () => {
    const id = await image({ status: 'community' })
    await published(id)
    return { customer: owner, input: { params: { id } } }
  }),
  scene(cancelImageBuild, async () => ({
    customer: owner,
    input: { params: { id: await image({ status: 'building', sizeBytes: 0 }) } },
  })),
  scene(starImage, async () => ({
    customer: owner,
    input: { params: { id: await published(await image({ status: 'community' })) } },
  })),
  scene(reportImage, async () => ({
    customer: await payer(),
    input: {
      params: { id: await published(await image({ status: 'community' })) },
      body: { kind: 'broken' as const, text: 'It does not start.' },
    },
  })),
  scene(unstarImage, async () => {
    const id = await published(await image({ status: 'community' }))
    await gateway.data(starImage, { params: { id } }, owner)
    return { customer: owner, input: { params: { id } } }
  }),
  scene(startWebTerminal, async () => ({
    customer: owner,
    input: { body: { instance_id: await instance('running') } },
  })),
  scene(stopWebTerminal, async () => ({
    customer: owner,
    input: { body: { instance_id: await instance('running') } },
  })),
  scene(topup, async () => ({ customer: owner, input: { body: money(SPENDING_CARD) } })),
  scene(
    topup,
    async () => ({ customer: owner, input: { body: money(ASKING_CARD) } }),
    'that wants a confirmation',
  ),
  scene(addPaymentMethod, async () => ({ customer: owner, input: { body: card('5555 5555 5555 4444') } })),
  scene(setPaymentMethod, async () => ({
    customer: owner,
    input: { params: { id: await keptCard('3782 822463 10005') }, body: { is_default: true as const } },
  })),
  scene(setAutoTopup, async () => {
    await keptCard('4242 4242 4242 4242')
    const amounts = { threshold: 1, amount: 2_500, monthly_cap: 5_000 }
    return { customer: owner, input: { body: { enabled: true, ...amounts, payment_method_id: null } } }
  }),
  scene(removePaymentMethod, async () => ({
    customer: owner,
    input: { params: { id: await keptCard('4000 0566 5566 5556') } },
  })),
  scene(beginPayment, async () => ({
    customer: owner,
    input: {
      body: { payment_method: '4242 4242 4242 4242', payment_method_type: 'card' as const, amount: 2_500 },
    },
  })),
  scene(cancelTopup, async () => {
    const { transaction_id: id } = await gateway.data(topup, { body: money(ASKING_CARD) }, owner)
    return { customer: owner, input: { params: { id } } }
  }),
  scene(applyCoupon, async () => {
    const code = `C-${randomUUID()}`
    await gateway.gateway.billing.couponDesk.create({
      ...{
        code,
        currency: 'USD',
        amountMicro: 2_000_000n,
        modelsOnly: false,
        endsAt: null,
        perCustomerMax: 1,
      },
      ...{ totalMax: null, firstTopupOnly: false, paidMinMicro: 0n, creditDays: null },
    })
    return { customer: owner, input: { body: { code } } }
  }),
]

describe('the calls that are looked at', () => {
  test('are all that change anything, but for those that are named with a reason', () => {
    const looked = new Set(SCENES.map(({ call }) => call.operation))
    const left = all.filter(({ readOnly, operation }) => !readOnly && !looked.has(operation))
    expect(left.map(({ operation }) => operation).sort(), 'give it a scene, or say why not').toEqual(
      Object.keys(NOT_COMPARED).sort(),
    )
  })

  test('are compared by all that only look, but for those that are named with a reason', () => {
    const unread = all.filter(({ readOnly, operation }) => readOnly && operation in UNREAD)
    expect(unread.map(({ operation }) => operation).sort()).toEqual(Object.keys(UNREAD).sort())
  })
})

describe('what it changes, a call names in its `stales`', () => {
  test.each(thirdOfTurn(SCENES).map(one => [`${one.call.operation} ${one.name}`.trim(), one] as const))(
    '%s',
    async (_, one) => {
      // What came late of the preparation is not there a second time.
      const told = (await toldBeside(one)).length === 0 ? [] : await toldBeside(one)
      expect(told, 'name these reads in its `stales`').toEqual([])
    },
  )
})

/** Makes a call, and says which answers it changed that it does not name. */
async function toldBeside({ call, prepare }: Scene) {
  const { customer, input } = await prepare()
  clock.heldAt = clock.now()
  try {
    const things = await thingsOf(customer)
    // What it names may change or not: it is not asked, and bills take longest of all.
    const named = declared(call)
    const compared = reads.filter(({ operation }) => !named.includes(operation))
    const before = await quietAnswers(customer, things, compared)
    const { envelope } = await gateway.call(call, input, customer)
    expect(envelope, 'it was not done').toMatchObject({ status: 'ok' })
    // A machine that restarts is as it was in the end, but not at once.
    const nearby = compared.filter(read => kindOf(read) === kindOf(call))
    const first = await answersOf(customer, things, [...new Set([...tellingReads, ...nearby])])
    return [first, await quietAnswers(customer, things, compared, first)].flatMap(after =>
      changes(before, after),
    )
  } finally {
    clock.heldAt = null
  }
}

/** What a call is about: the first part of its name. */
const kindOf = ({ operation }: Call) => operation.split('.')[0]

/** The reads that are old after a call: see `staleReads` in the console's `api/change.ts`. */
function declared({ stales, audit }: ChangingCall): readonly string[] {
  if ('because' in stales) return []
  return audit !== null && 'target' in audit ? [...stales, listAuditLog.operation] : stales
}

/* Reading */

/** Fields that say the same as another read, which is the one that pages show; by operation. */
const SAID_ELSEWHERE: Record<string, string> = { 'account.get-account': 'balance' }

type Things = Record<'instances' | 'transactions' | 'topups' | 'invoices', string[]>

/** What the reads with an id are asked about. */
async function thingsOf(customer: Customer): Promise<Things> {
  const instances = await gateway.data(listInstances, {}, customer)
  const { items } = await gateway.data(listTransactions, { query: {} }, customer)
  const newest = (list: { id: string }[]) => list.slice(0, READ_OF_EACH).map(({ id }) => id)
  return {
    instances: newest(instances.map(({ instance_id: id }) => ({ id }))),
    transactions: newest(items),
    topups: newest(items.filter(({ type }) => type === 'topup')),
    invoices: newest((await gateway.data(listInvoices, {}, customer)).items),
  }
}

const month = () => clock.now().toISOString().slice(0, 7)
const byId = (ids: string[]): unknown[] => ids.map(id => ({ params: { id } }))
const { gpu_spec_id, gpu_count, region_code, container_disk_gb, image_id } = deployBody()
const machine = { gpu_spec_id, gpu_count, region_code, container_disk_gb }

/** What the reads are asked that need to be asked something, by operation. */
const QUESTIONS: Record<string, (things: Things, customer: Customer) => unknown[]> = {
  'account.get-application': () => [{ query: { id: 'admin/berth-console' } }],
  'model.creation-archive': () => [{ query: { kind: 'video' } }],
  'model.creation-outlook': () => [{ query: { model: 'berth/demo-image' } }],
  'account.get-captcha-status': (_, { email }) => [{ query: { ...names, userId: email } }],
  'image.official-in': () => [{ params: { region: 'us-west' } }],
  'gpu_spec.list': () => [{ body: { region_codes: [] } }],
  'instance.price': () => [{ query: machine }],
  'instance.check-resource': () => [{ body: { ...machine, image_id } }],
  'instance.billing-preview': ({ instances }) =>
    instances.flatMap(id => ['renew', 'convert'].map(change => ({ params: { id }, query: { change } }))),
  'eip.price': () => [{ query: { region_code: 'us-west' } }],
  'instance.setup': ({ instances }) => byId(instances),
  'instance.connection': ({ instances }) => byId(instances),
  'instance.events': ({ instances }) => byId(instances),
  'instance.logs': ({ instances }) => byId(instances),
  'bill.order': () =>
    (['resource', 'day', 'kind'] as const).map(group => ({ query: { month: month(), group } })),
  'bill.order-line': ({ instances }) =>
    instances.map(id => ({ query: { month: month(), line: `instance:${id}` } })),
  'bill.order-download': () => [{ query: { month: month() } }],
  'bill.topup-state': ({ topups }) => byId(topups),
  'bill.transaction-receipt': ({ transactions }) => byId(transactions),
  'bill.invoice-page': ({ invoices }) => byId(invoices),
}

/** What each read answered, by operation and question. */
type Answers = Map<string, { operation: string; answer: string }>

function changes(before: Answers, after: Answers) {
  return [...before].flatMap(([key, { operation, answer }]) => {
    const now = after.get(key)
    return !now || now.answer === answer ? [] : [{ operation, key, before: answer, after: now.answer }]
  })
}

/** Some of what a customer reads. */
async function answersOf(
  { token, email }: Customer,
  things: Things,
  some: readonly Call[],
): Promise<Answers> {
  const asked = some.flatMap(read =>
    (QUESTIONS[read.operation]?.(things, { token, email }) ?? [{}]).map(question => ({ read, question })),
  )
  const answered = await Promise.all(
    asked.map(async ({ read, question }) => {
      const { operation } = read
      const { envelope } = await gateway.call(read, question as CallInput<Call>, { token })
      if (envelope.status === 'error' && envelope.code === 'validation_failed') {
        throw new Error(`${operation}: say in QUESTIONS what it is asked`)
      }
      const { request_id: _, ...said } = { request_id: '', ...envelope }
      const left = SAID_ELSEWHERE[operation]
      const answer = JSON.stringify(said, (field, value) => {
        if (field === left) return undefined
        // A port that could not be tried in time, on a busy computer, has not changed.
        return field === 'listening' && value === null ? false : value
      })
      return [`${operation} ${JSON.stringify(question)}`, { operation, answer }] as const
    }),
  )
  return new Map(answered)
}

/** The answers once what goes on behind the last call is over: audit entries, machines that start, listeners. */
async function quietAnswers(
  customer: Customer,
  things: Things,
  compared: readonly Call[],
  first: Promise<Answers> | Answers = answersOf(customer, things, tellingReads),
): Promise<Answers> {
  let last = await first
  await eventually('no change any more', async () => {
    await new Promise(resolve => setTimeout(resolve, QUIET_MS))
    const next = await answersOf(customer, things, tellingReads)
    const isQuiet = changes(last, next).length === 0
    last = next
    return isQuiet
  })
  return await answersOf(customer, things, compared)
}

/* Customers and what they have */

async function setBudget(): Promise<{ id: string }> {
  const body = { ...BUDGET, instance_id: await instance('running') }
  const { id } = await gateway.data(addBudget, { body }, owner)
  return { id }
}

const card = (source: string) => ({ platform_name: 'testcard', source })

/** A saved method of the owner's. */
async function keptCard(source: string): Promise<string> {
  return (await gateway.data(addPaymentMethod, { body: card(source) }, owner)).method.id
}

async function keptTemplate(): Promise<{ id: string }> {
  const body = { name: randomUUID(), setup: deployBody() }
  const { id } = await gateway.data(addDeployTemplate, { body }, owner)
  return { id }
}

/** A public IP that an instance has for itself. */
async function boundIp(): Promise<{ id: string }> {
  const body = { region_code: 'us-west', instance_id: await instance('running', WITH_PORT) }
  const { id } = await gateway.data(bindPublicIp, { body }, owner)
  return { id: id ?? '' }
}

/** A mail for the offer that is sold out; each time until another moment, so that it is another watch. */
function watched() {
  const until = new Date(clock.now().getTime() + WATCHED_MS).toISOString()
  return { region_code: 'us-west', gpu_spec_id: 'b200', gpu_count: 1, until }
}

/** An image of the owner's own. */
async function image(changes: Partial<typeof ownImage.$inferInsert>): Promise<string> {
  const row = keptImage(owner.userId, changes)
  await gateway.database.db.insert(ownImage).values(row)
  return row.id
}

/** What the community has of one. */
async function published(originId: string): Promise<string> {
  const row = communityCopy(keptImage(owner.userId, { id: originId }))
  await gateway.database.db.insert(communityImage).values(row)
  return row.id
}

/** A film of the owner's own. */
async function film(changes: Partial<typeof creationItem.$inferInsert> = {}) {
  const { run, item } = failedFilm(owner.userId)
  await gateway.database.db.insert(creation).values(run)
  await gateway.database.db.insert(creationItem).values({ ...item, ...changes })
  return { run, item }
}

const volumeBody = () => ({ name: randomUUID(), region_code: 'us-west', size_gb: 10 })

/** A network volume of the owner's own that costs something. */
async function readyVolume(): Promise<Volume> {
  const { id } = await gateway.data(createVolume, { body: volumeBody() }, owner)
  return await eventually(`${id} is ready`, async () => {
    const list = await gateway.data(listVolumes, { query: {} }, owner)
    return list.find(one => one.id === id && one.status === 'ready')
  })
}

/** A snapshot of one of the owner's volumes, which costs something. */
async function readySnapshot() {
  const { id } = await readyVolume()
  const taken = await gateway.data(takeSnapshot, { params: { id } }, owner)
  await eventually(`${taken.id} is ready`, async () => {
    const { snapshots } = await gateway.data(listSnapshots, { params: { id } }, owner)
    return snapshots.find(({ status }) => status === 'ready')
  })
  return { id, snapshot_id: taken.id }
}

async function madeS3Key() {
  const { id } = await readyVolume()
  const { access_key_id } = await gateway.data(
    makeS3Key,
    { params: { id }, body: { access: 'read_write' } },
    owner,
  )
  return { id, access_key_id }
}

async function payer(): Promise<Customer & { userId: string }> {
  const { userId, token, email } = await gateway.signUp()
  await gateway.grant(userId, 100_000)
  return { userId, token, email }
}

/** Somebody who has signed up by a form, and is signed in. */
async function unverified(): Promise<Customer> {
  const email = `${randomUUID()}@example.org`
  await gateway.data(signup, { body: signUpBody(email) })
  return { email, token: await signIn(email) }
}

/** Verified, with a password. */
async function withPassword(): Promise<Customer> {
  const customer = await unverified()
  const query = { application: names.application, token: await mailedSecret(customer.email) }
  await gateway.data(verifyEmail, { query })
  return customer
}

const signIn = (email: string) => gateway.data(login, { body: loginBody(email) })

function mailedSecret(email: string): Promise<string> {
  return eventually('the activation mail', async () => {
    const { items } = await gateway.data(listMailbox, {})
    const mail = items.find(({ to, text }) => to === email && text.includes('/activty?'))
    return mail && secretIn(mail.text)
  })
}

/** A customer who has said a PayPal account, of the same address. */
async function withPaypal(): Promise<Customer> {
  const customer = await gateway.signUp()
  await gateway.data(setPaypalAccount, { body: { paypal_account: customer.email } }, customer)
  return customer
}

function paypalSecret(email: string): Promise<string> {
  return eventually('the mail to the PayPal account', async () => {
    const { items } = await gateway.data(listMailbox, {})
    const mail = items.find(({ to, text }) => to === email && text.includes('paypal='))
    return mail && (/paypal=([\w-]+)/.exec(mail.text)?.[1] ?? '')
  })
}

/** What the service sends the browser back with. */
async function visitOf(customer: Customer) {
  const body = { ...names, provider: 'acme', method: 'link' as const }
  const { url, browserKey, redirectUri } = await gateway.data(beginProviderSignIn, { body }, customer)
  const back = await passService(url, { login: customer.email })
  const { code = '', state = '', iss } = Object.fromEntries(back.searchParams)
  const known = iss === undefined ? {} : { iss }
  return { ...names, provider: 'acme', code, state, browserKey, redirectUri, ...known }
}

/** An instance of the owner's own, in that status. */
async function instance(
  status: 'running' | 'stopped',
  paid: Partial<ReturnType<typeof deployBody>> = {},
): Promise<string> {
  const { instance_id: id } = await gateway.data(deployInstance, { body: deployBody(paid) }, owner)
  await until(id, 'running')
  // So that it has cost something.
  clock.aheadMs += 2_000
  if (status === 'running') return id
  await gateway.data(stopInstance, { params: { id } }, owner)
  await until(id, 'stopped')
  return id
}

function until(id: string, status: string): Promise<boolean> {
  return eventually(`${id} is ${status}`, async () => {
    const list = await gateway.data(listInstances, {}, owner)
    return list.some(one => one.instance_id === id && one.status === status)
  })
}

const sshKey = () => ({ name: '', public_key: lineOf('ssh-ed25519', [ed25519Bytes()]) })
const credential = () => ({ name: `at ${randomUUID()}`, registry: yard.host, ...LOGIN })
const idOf = ({ id }: { id: string }) => ({ id })
const addedKey = async () => idOf(await gateway.data(addSshKey, { body: sshKey() }, owner))
const addedCredential = async () =>
  idOf(await gateway.data(addRegistryCredential, { body: credential() }, owner))
const madeApiKey = async () => idOf(await gateway.data(createApiKey, { body: { name: 'one' } }, owner))

function money(source: string) {
  return { amount: 1_000, currency: 'USD' as const, platform_name: 'testcard', source }
}
