import { globSync, readFileSync } from 'node:fs'
import { login, resetPassword, sendResetPasswordEmail, signup, updateUser } from '@berth/contract/account'
import { deleteAccount, setPassword } from '@berth/contract/account-security'
import { getCaptchaStatus } from '@berth/contract/account-sign-in'
import { type ApiKey, createApiKey, editApiKey } from '@berth/contract/api-keys'
import { type AutoTopup, getAutoTopup, setAutoTopup } from '@berth/contract/auto-topup'
import { topup } from '@berth/contract/billing'
import { addBudget, type Budget, editBudget } from '@berth/contract/budgets'
import type { Call } from '@berth/contract/call'
import { applyCoupon } from '@berth/contract/credits'
import { addDeployTemplate, renameDeployTemplate } from '@berth/contract/deploy-templates'
import { makeFolder } from '@berth/contract/files'
import { getImage, type Image, officialImages } from '@berth/contract/images'
import { deployBody, deployInstance, editInstance } from '@berth/contract/instances'
import { setBillingAddress } from '@berth/contract/invoices'
import { setModelKeeping } from '@berth/contract/model-keeping'
import { watchOffer } from '@berth/contract/offer-watches'
import { createImage, editImage, reportImage } from '@berth/contract/own-images'
import { addPaymentMethod } from '@berth/contract/payment-methods'
import { chooseSettlement, setPaypalAccount } from '@berth/contract/referral'
import { allRegions, listGpuSpecs } from '@berth/contract/regions'
import {
  addRegistryCredential,
  editRegistryCredential,
  type RegistryCredential,
} from '@berth/contract/registries'
import { addSshKey } from '@berth/contract/ssh-keys'
import { attachVolume } from '@berth/contract/volume-attach-calls'
import { restoreSnapshot, scheduleSnapshots } from '@berth/contract/volume-snapshots'
import { createVolume, editVolume, growVolume } from '@berth/contract/volumes'
import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import type { FunctionComponent } from 'react'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import type { Namespace } from './app/i18n.ts'
import { renderInPage } from './component-fixture.tsx'
import { answerCalls, customer, InShell, Refusal, type Sent } from './gateway-fixture.tsx'
import { ImageSheet } from './images/ImageSheet.tsx'
import { madeDetail, madeOwnImage } from './images/image-fixture.ts'
import { AttachVolumeForm } from './instances/AttachVolumeForm.tsx'
import { EditDialog } from './instances/EditDialog.tsx'
import { madeInstance } from './instances/instance-fixture.ts'
import { offersOf } from './offers/offers.ts'
import { LoginForm } from './pages/auth/LoginForm.tsx'
import { Page as ResetPasswordPage } from './pages/auth/ResetPasswordPage.tsx'
import { ResetRequestForm } from './pages/auth/ResetRequestForm.tsx'
import { SignupForm } from './pages/auth/SignupForm.tsx'
import { DeployForm } from './pages/explore/DeployForm.tsx'
import { SaveTemplateDialog } from './pages/explore/repeat/SaveTemplateDialog.tsx'
import { TemplatesDialog } from './pages/explore/repeat/TemplatesDialog.tsx'
import { WatchDialog } from './pages/explore/watch/WatchDialog.tsx'
import { ReportDialog } from './pages/image-detail/ReportDialog.tsx'
import { FileDialogs } from './pages/instance/files/FileDialogs.tsx'
import { CreateVolumeDialog } from './pages/network-volume/CreateVolumeDialog.tsx'
import { GrowVolumeDialog } from './pages/network-volume/GrowVolumeDialog.tsx'
import { RenameVolumeDialog } from './pages/network-volume/RenameVolumeDialog.tsx'
import { RestoreSnapshotDialog } from './pages/network-volume/RestoreSnapshotDialog.tsx'
import { SnapshotSchedule } from './pages/network-volume/SnapshotSchedule.tsx'
import { madeSnapshot, madeSnapshots, madeVolume } from './pages/network-volume/volume-fixture.ts'
import { AutoTopupDialog } from './pages/payments/auto-topup/AutoTopupDialog.tsx'
import { madeBalance } from './pages/payments/balance-fixture.ts'
import { BudgetDialog } from './pages/payments/budgets/BudgetDialog.tsx'
import { RedeemForm } from './pages/payments/coupons/RedeemForm.tsx'
import { AddMethodForm } from './pages/payments/methods/AddMethodForm.tsx'
import { TopupForm } from './pages/payments/TopupForm.tsx'
import { PaypalDialog } from './pages/refer-earn/PaypalDialog.tsx'
import { madeQuarter, madeSummary } from './pages/refer-earn/referral-fixture.ts'
import { SettlementDialog } from './pages/refer-earn/SettlementDialog.tsx'
import { BillingForm } from './pages/settings/billing/BillingSection.tsx'
import { DeleteSection } from './pages/settings/delete/DeleteSection.tsx'
import { AddSshKeyDialog } from './pages/settings/keys/AddSshKeyDialog.tsx'
import { CreateApiKeyDialog } from './pages/settings/keys/CreateApiKeyDialog.tsx'
import { EditApiKeyDialog } from './pages/settings/keys/EditApiKeyDialog.tsx'
import { KeepingForm } from './pages/settings/keys/KeepingCard.tsx'
import { RegistryDialog } from './pages/settings/keys/RegistryDialog.tsx'
import { ProfileSection } from './pages/settings/profile/ProfileSection.tsx'
import { PasswordCard } from './pages/settings/sign-in/PasswordCard.tsx'
import { pathsOf, sampleOf } from './schema-fixture.ts'
import { FormFailure } from './ui/FormFailure.tsx'
import { useContractForm } from './ui/use-contract-form.ts'

interface FormCase {
  file: string
  /** Of the form, where one file has several ways to be used. */
  as?: string
  call: Call
  Form: FunctionComponent
  namespaces: readonly Namespace[]
  /** What makes it a form that is sent, by label. */
  typed: Record<string, string | boolean>
  submit: string | RegExp
}

const NEW_PASSWORD = { Password: 'Harbour-Light-8', 'Password, once more': 'Harbour-Light-8' }
const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl mira'
const nothing = () => undefined
const IMAGE_SAID = { Name: 'comfy', Description: 'Nodes.', README: '# What it is', image: true }

const FORMS: readonly FormCase[] = [
  {
    file: 'instance/files/FileNameForm.tsx',
    call: makeFolder,
    Form: () => (
      <FileDialogs
        asked={{ what: 'make-folder', folder: '/root' }}
        instanceId="i-7q2m9x"
        onClose={nothing}
        onDone={nothing}
      />
    ),
    namespaces: ['files'],
    typed: { Name: 'data' },
    submit: 'Make the folder',
  },
  {
    file: 'auth/LoginForm.tsx',
    call: login,
    Form: () => <LoginForm email="" failure={null} onReset={nothing} />,
    namespaces: ['auth'],
    typed: { Email: 'mira@example.org', Password: 'Harbour-Light-7' },
    submit: 'Log in',
  },
  {
    file: 'refer-earn/PaypalDialog.tsx',
    call: setPaypalAccount,
    Form: () => <PaypalDialog summary={madeSummary()} opened onClose={nothing} onSaved={nothing} />,
    namespaces: ['refer'],
    typed: { 'PayPal account': 'mira@example.org' },
    submit: 'Save',
  },
  {
    file: 'refer-earn/SettlementDialog.tsx',
    call: chooseSettlement,
    Form: () => (
      <SettlementDialog
        quarter={madeQuarter()}
        summary={madeSummary()}
        onClose={nothing}
        onPaypal={nothing}
      />
    ),
    namespaces: ['refer'],
    typed: {},
    submit: 'Settle this way',
  },
  {
    file: 'settings/keys/KeepingCard.tsx',
    call: setModelKeeping,
    Form: () => <KeepingForm keeping={{ days: null, calls: 0, bytes: 0 }} />,
    namespaces: ['keys'],
    typed: { 'Days that a call is kept': '30' },
    submit: 'Keep calls',
  },
  {
    file: 'auth/SignupForm.tsx',
    call: signup,
    Form: () => <SignupForm termsUrl="" onMade={nothing} />,
    namespaces: ['auth'],
    typed: {
      Username: 'Mira',
      Email: 'mira@example.org',
      ...NEW_PASSWORD,
      'I agree to the terms of use Read the terms': true,
    },
    submit: 'Create account',
  },
  {
    file: 'auth/ResetRequestForm.tsx',
    call: sendResetPasswordEmail,
    Form: () => <ResetRequestForm email="mira@example.org" failure={null} />,
    namespaces: ['auth'],
    typed: {},
    submit: /^Send/,
  },
  {
    file: 'auth/ResetPasswordPage.tsx',
    call: resetPassword,
    Form: ResetPasswordPage,
    namespaces: ['auth'],
    typed: NEW_PASSWORD,
    submit: /password/,
  },
  {
    file: 'explore/DeployForm.tsx',
    call: deployInstance,
    Form: Deploy,
    namespaces: ['explore', 'deploy', 'public-ip'],
    typed: { Name: 'llama-finetune' },
    submit: 'Deploy',
  },
  {
    file: 'explore/repeat/SaveTemplateDialog.tsx',
    call: addDeployTemplate,
    Form: () => <SaveTemplateDialog setup={SETUP} opened onClose={nothing} />,
    namespaces: ['deploy'],
    typed: { Name: 'training' },
    submit: 'Save template',
  },
  {
    file: 'explore/repeat/TemplatesDialog.tsx',
    call: renameDeployTemplate,
    Form: () => (
      <TemplatesDialog templates={[{ id: 't-1', name: 'one', created_at: '' }]} onClose={nothing} />
    ),
    namespaces: ['deploy'],
    typed: { 'Name of one': 'two' },
    submit: 'Rename',
  },
  {
    file: 'explore/watch/WatchDialog.tsx',
    call: watchOffer,
    Form: () => <WatchDialog offer={WATCHED} setup={SETUP} opened onClose={nothing} />,
    namespaces: ['watches'],
    typed: { 'USD an hour, at most': '2.50' },
    submit: 'Watch',
  },
  {
    file: 'instances/EditDialog.tsx',
    call: editInstance,
    Form: () => <EditDialog instance={madeInstance({})} opened onClose={nothing} />,
    namespaces: ['instances', 'deploy'],
    typed: { Name: 'other' },
    submit: 'Save',
  },
  {
    file: 'image-detail/ReportDialog.tsx',
    call: reportImage,
    Form: () => <ReportDialog image={{ id: 'im-000000', name: 'tools' }} opened onClose={nothing} />,
    namespaces: ['images'],
    typed: { 'What did you see?': 'It ends at once.' },
    submit: 'Send the report',
  },
  {
    file: 'network-volume/CreateVolumeDialog.tsx',
    call: createVolume,
    Form: () => <CreateVolumeDialog opened onClose={nothing} />,
    namespaces: ['volumes'],
    typed: { Name: 'datasets' },
    submit: 'Create',
  },
  {
    file: 'network-volume/GrowVolumeDialog.tsx',
    call: growVolume,
    Form: () => <GrowVolumeDialog volume={madeVolume()} opened onClose={nothing} />,
    namespaces: ['volumes'],
    typed: { Size: '200' },
    submit: 'Grow',
  },
  {
    file: 'network-volume/RenameVolumeDialog.tsx',
    call: editVolume,
    Form: () => <RenameVolumeDialog volume={madeVolume()} opened onClose={nothing} />,
    namespaces: ['volumes'],
    typed: { Name: 'other' },
    submit: 'Save',
  },
  {
    file: 'network-volume/RestoreSnapshotDialog.tsx',
    call: restoreSnapshot,
    Form: () => (
      <RestoreSnapshotDialog volume={madeVolume()} snapshot={madeSnapshot()} opened onClose={nothing} />
    ),
    namespaces: ['volumes'],
    typed: { Name: 'back' },
    submit: 'Restore',
  },
  {
    file: 'network-volume/SnapshotSchedule.tsx',
    call: scheduleSnapshots,
    Form: () => <SnapshotSchedule volume={madeVolume()} all={madeSnapshots({}, { every: 'daily' })} />,
    namespaces: ['volumes'],
    typed: { 'Keep the last': '3' },
    submit: 'Save schedule',
  },
  {
    file: 'instances/AttachVolumeForm.tsx',
    call: attachVolume,
    Form: () => (
      <AttachVolumeForm
        given={{ instance: 'i-000000' }}
        choices={[{ value: 'v-000000', label: 'datasets' }]}
        none=""
        onClose={nothing}
      />
    ),
    namespaces: ['volumes'],
    typed: { Path: '/mnt/data' },
    submit: 'Attach',
  },
  {
    file: 'payments/TopupForm.tsx',
    call: topup,
    Form: () => (
      <TopupForm
        platform={{
          platform_name: 'testcard',
          display_name: 'Test card',
          test: true,
          entry: 'card',
          publishable_key: null,
        }}
        balance={madeBalance()}
        typed={{ current: { amount: '25', source: '4242 4242 4242 4242' } }}
        onSettled={nothing}
        onInFlight={nothing}
      />
    ),
    namespaces: ['payments', 'methods'],
    typed: {},
    submit: /^Pay/,
  },
  {
    file: 'payments/methods/AddMethodForm.tsx',
    call: addPaymentMethod,
    Form: () => (
      <AddMethodForm
        platform={{
          platform_name: 'testcard',
          display_name: 'Test card',
          test: true,
          entry: 'card',
          publishable_key: null,
        }}
        onClose={nothing}
      />
    ),
    namespaces: ['methods', 'payments'],
    typed: { 'Card number': '4242 4242 4242 4242' },
    submit: 'Save card',
  },
  {
    file: 'payments/auto-topup/AutoTopupDialog.tsx',
    call: setAutoTopup,
    Form: () => <AutoTopupDialog auto={AUTO_TOPUP} opened onClose={nothing} />,
    namespaces: ['methods', 'payments'],
    typed: { 'Charge, USD': '50', 'At most in a month, USD': '200' },
    submit: 'Turn on',
  },
  {
    file: 'settings/billing/BillingSection.tsx',
    call: setBillingAddress,
    Form: () => <BillingForm kept={{ name: '', address: '', tax_id: '' }} />,
    namespaces: ['invoices'],
    typed: { 'Name or company': 'Mira GmbH' },
    submit: 'Save',
  },
  {
    file: 'settings/profile/ProfileSection.tsx',
    call: updateUser,
    Form: ProfileSection,
    namespaces: ['settings'],
    typed: { Username: 'Other' },
    submit: 'Save',
  },
  {
    file: 'images/CreateImageForm.tsx',
    as: 'of an instance',
    call: createImage,
    Form: () => (
      <ImageSheet about={{ task: 'instance', instance: madeInstance({}) }} opened onClose={nothing} />
    ),
    namespaces: ['images', 'image-form'],
    typed: IMAGE_SAID,
    submit: 'Build image',
  },
  {
    file: 'images/CreateImageForm.tsx',
    as: 'of a registry',
    call: createImage,
    Form: () => <ImageSheet about={{ task: 'registry' }} opened onClose={nothing} />,
    namespaces: ['images', 'image-form'],
    typed: { 'Image of a registry': 'debian:12', ...IMAGE_SAID },
    submit: 'Build image',
  },
  {
    file: 'images/EditImageForm.tsx',
    call: editImage,
    Form: () => <ImageSheet about={{ task: 'edit', image: madeOwnImage() }} opened onClose={nothing} />,
    namespaces: ['images', 'image-form'],
    typed: { Name: 'comfy' },
    submit: 'Save',
  },
  {
    file: 'settings/sign-in/PasswordCard.tsx',
    call: setPassword,
    Form: PasswordCard,
    namespaces: ['settings'],
    typed: {
      'Current password': 'x',
      'New password': 'Harbour-Light-8',
      'Password, once more': 'Harbour-Light-8',
    },
    submit: /password/,
  },
  {
    file: 'payments/coupons/RedeemForm.tsx',
    call: applyCoupon,
    Form: RedeemForm,
    namespaces: ['coupons'],
    typed: { 'Coupon code': 'LAUNCH20' },
    submit: 'Redeem',
  },
  {
    file: 'payments/budgets/BudgetDialog.tsx',
    as: 'to add one',
    call: addBudget,
    Form: () => <BudgetDialog budget={null} opened onClose={nothing} />,
    namespaces: ['budgets'],
    typed: { 'Amount, USD': '25' },
    submit: 'Add',
  },
  {
    file: 'payments/budgets/BudgetDialog.tsx',
    as: 'to edit one',
    call: editBudget,
    Form: () => <BudgetDialog budget={BUDGET} opened onClose={nothing} />,
    namespaces: ['budgets'],
    typed: { 'Amount, USD': '50' },
    submit: 'Save',
  },
  {
    file: 'settings/keys/RegistryDialog.tsx',
    as: 'to add one',
    call: addRegistryCredential,
    Form: () => <RegistryDialog credential={null} opened onClose={nothing} />,
    namespaces: ['keys'],
    typed: { Name: 'hub', Username: 'mira', 'Password or token': 'secret' },
    submit: /^Add/,
  },
  {
    file: 'settings/keys/RegistryDialog.tsx',
    as: 'to edit one',
    call: editRegistryCredential,
    Form: () => <RegistryDialog credential={CREDENTIAL} opened onClose={nothing} />,
    namespaces: ['keys'],
    typed: {},
    submit: 'Save',
  },
  {
    file: 'settings/keys/CreateApiKeyDialog.tsx',
    call: createApiKey,
    Form: () => <CreateApiKeyDialog opened onClose={nothing} />,
    namespaces: ['keys'],
    typed: { Name: 'laptop' },
    submit: /^(Create|Make)/,
  },
  {
    file: 'settings/keys/EditApiKeyDialog.tsx',
    call: editApiKey,
    Form: () => <EditApiKeyDialog apiKey={API_KEY} opened onClose={nothing} />,
    namespaces: ['keys'],
    typed: { 'Budget, USD': '5', 'Calls a minute': '60' },
    submit: 'Save',
  },
  {
    file: 'settings/keys/AddSshKeyDialog.tsx',
    call: addSshKey,
    Form: () => <AddSshKeyDialog opened onClose={nothing} />,
    namespaces: ['keys'],
    typed: { 'Public key': ED25519 },
    submit: /^Add/,
  },
  {
    file: 'settings/delete/DeleteSection.tsx',
    call: deleteAccount,
    Form: DeleteSection,
    namespaces: ['settings'],
    typed: { 'Type mira@example.org to confirm': 'mira@example.org', Password: 'x' },
    submit: /^Delete/,
  },
]

const CREDENTIAL: RegistryCredential = {
  ...(sampleOf(addRegistryCredential.data) as RegistryCredential),
  name: 'hub',
  username: 'mira',
  registry: 'docker.io',
}

const API_KEY: ApiKey = {
  ...(sampleOf(editApiKey.data) as ApiKey),
  name: 'laptop',
  models: null,
  spend_limit: {
    amount: 500,
    period: 'day',
    stops: true,
    spent_micro: '1200000',
    until: '2026-12-01T00:00:00.000Z',
  },
}

const AUTO_TOPUP: AutoTopup = {
  ...(sampleOf(getAutoTopup.data) as AutoTopup),
  ...{ enabled: false, threshold: 1_000, currency: 'USD' },
}

const BUDGET: Budget = { ...(sampleOf(addBudget.data) as Budget), currency: 'USD' }

const SETUP = deployBody.parse({
  name: 'training',
  region_code: 'us-west',
  gpu_spec_id: 'cpu',
  gpu_count: 1,
  image_id: 'base',
  container_disk_gb: 20,
})

const WATCHED = {
  ...{ name: '1 × B200', region: 'US West', region_code: 'us-west', gpu_spec_id: 'b200', gpu_count: 1 },
  ...{ microPerHour: '2390000', currency: 'USD' },
}

function Deploy() {
  const [offer] = offersOf(sampleOf(listGpuSpecs.data) as never, '', 'price')
  if (!offer) throw new Error('There is no offer.')
  const [regions, images] = [allRegions, officialImages].map(({ data }) => sampleOf(data)) as [never, never]
  // A form begins with what its image says of itself.
  const said = (images as Image[]).map(image => ({ ...image, start_command: '' }))
  return <DeployForm offer={offer} regions={regions} images={said} onDeployed={nothing} />
}

/** Draws a form, fills it in so that it can be sent, and says what is sent. */
async function open(
  form: FormCase,
  answer: (sent: Sent) => unknown,
  user = customer(),
): Promise<{ sent: Sent[] }> {
  const { Form } = form
  window.history.replaceState(null, '', '/?token=t')
  const answered = await answerCalls(
    {
      [getCaptchaStatus.operation]: () => false,
      [getImage.operation]: () => madeDetail({ id: 'im-000001', region_code: 'us-west' }),
      [form.call.operation]: answer,
    },
    { user },
  )
  await renderInPage(
    () => (
      <InShell>
        <Form />
      </InShell>
    ),
    { namespaces: form.namespaces },
  )
  for (const [label, value] of Object.entries(form.typed)) {
    // Some forms are drawn once what they begin with was read.
    await screen.findByLabelText(label, FIELDS)
    type(label, value)
  }
  return answered
}

function type(label: string, value: string | boolean): void {
  const field = fieldOf(label)
  if (typeof value === 'string') fireEvent.change(field, { target: { value } })
  else fireEvent.click(field)
}

const FIELDS = { selector: 'input, textarea' }
const fieldOf = (label: string) => screen.getByLabelText(label, FIELDS)

/** Asking for a role is slow, so the button is looked for once. */
function submitButton(name: string | RegExp): HTMLElement {
  const found = screen.getAllByRole('button', { name }).find(node => node.getAttribute('type') === 'submit')
  if (!found) throw new Error(`No button ${name} sends the form.`)
  return found
}

describe('every form of the console', () => {
  test('is in the table below', () => {
    const folder = import.meta.dirname
    const files = globSync('{images,instances,pages}/**/*.tsx', { cwd: folder })
      .filter(file => readFileSync(`${folder}/${file}`, 'utf8').includes('useContractForm({'))
      .map(file => file.replace(/^pages\//, ''))
    expect(files.toSorted()).toEqual([...new Set(FORMS.map(({ file }) => file))].toSorted())
  })

  test.each(FORMS.map(form => ({ ...form, name: [form.file, form.as].filter(Boolean).join(', ') })))(
    'says each thing that can be wrong with it, at a field or at itself: $name',
    async form => {
      let refusal = new Refusal([])
      const { sent } = await open(form, () => refusal)
      const { body } = form.call
      if (!body) throw new Error('A form sends something.')
      const button = submitButton(form.submit)
      for (const [index, path] of pathsOf(body).entries()) {
        const text = `Wrong ${index}`
        refusal = new Refusal([{ path, msg: text }])
        const before = sent.length
        await act(async () => fireEvent.click(button))
        await waitFor(() => expect(screen.queryByText(text, { exact: false }), path).not.toBeNull())
        expect(sent.length, `${path} was sent`).toBeGreaterThan(before)
        const said = screen.getByText(text, { exact: false })
        expect(said.closest('details:not([open])'), `${path} is folded away`).toBeNull()
        const field = document.querySelector('[data-path][aria-invalid="true"]')
        if (field) expect(document.activeElement, `${path} has the focus`).toBe(field)
        else expect(said.closest('[role="alert"]'), `${path} is said at the form`).not.toBeNull()
      }
    },
  )

  test.each(FORMS.map(form => ({ ...form, operation: form.call.operation })))(
    '[R4.2] [R6.3] is off for a customer without a verified address as its call says: $operation',
    async form => {
      const { sent } = await open(form, () => null, customer({ emailVerified: false }))
      const button = screen
        .getAllByRole('button', { name: form.submit })
        .filter(node => node.closest('form') !== null)
        .at(-1) as HTMLElement
      const isOff = form.call.audience === 'verified'
      expect(button.getAttribute('aria-disabled') === 'true').toBe(isOff)
      await act(async () => fireEvent.click(button))
      expect(sent.map(({ operation }) => operation).includes(form.call.operation)).toBe(!isOff)
    },
  )

  test.each([
    { label: 'HTTP ports', value: '8080,99999', says: /A port is a whole number/ },
    { label: 'TCP ports', value: '22, 22', says: /Each port only once/ },
    { label: 'Add a variable', value: '1BAD NAME', says: /^A name starts with/ },
  ])(
    'refuses $value among $label where one sees it, before anything is sent',
    async ({ label, value, says }) => {
      const deploy = FORMS.find(({ call }) => call === deployInstance) as FormCase
      const { sent } = await open(deploy, () => undefined)
      // The empty row of the variables becomes one of them.
      const field = fieldOf(label)
      type(label, value)
      await act(async () => fireEvent.click(submitButton(deploy.submit)))
      const said = screen.getByText(says)
      expect(said.closest('details:not([open])')).toBeNull()
      expect(document.activeElement).toBe(field)
      expect(sent.map(({ operation }) => operation)).not.toContain(deployInstance.operation)
    },
  )

  test('asks what is to happen when the start command ends, once there is one', async () => {
    const deploy = FORMS.find(({ call }) => call === deployInstance) as FormCase
    const { sent } = await open(deploy, () => undefined)
    expect(screen.queryByRole('radio', { name: 'Stop the machine' })).toBeNull()
    type('Start command', 'python train.py')
    expect((screen.getByLabelText('Keep the machine') as HTMLInputElement).checked).toBe(true)
    fireEvent.click(screen.getByLabelText('Stop the machine'))
    expect(screen.getByText(/Its disk stays/)).toBeTruthy()
    expect(screen.getByText(/^python train\.py · the machine stops with it · /)).toBeTruthy()
    await act(async () => fireEvent.click(submitButton(deploy.submit)))
    await waitFor(() =>
      expect(sent.find(({ operation }) => operation === deployInstance.operation)?.body).toMatchObject({
        start_command: 'python train.py',
        on_command_end: 'stop',
      }),
    )
  })

  test('says so when it is sent and something breaks that is no answer', async () => {
    const rename = FORMS.find(({ call }) => call === editInstance) as FormCase
    const broken: unknown[] = []
    const listen = (error: unknown) => broken.push(error)
    process.on('unhandledRejection', listen)
    onTestFinished(() => void process.off('unhandledRejection', listen))
    await open({ ...rename, Form: BrokenForm, typed: {} }, () => undefined)
    await act(async () => fireEvent.click(submitButton('Send')))
    expect(screen.getByRole('alert').textContent).toBe('Internal server error')
    await waitFor(() => expect(broken).toEqual([new Error('It broke.')]))
  })
})

function BrokenForm() {
  const { submit, failure } = useContractForm({
    schema: z.object({}),
    initialValues: {},
    onSubmit: () => Promise.reject(new Error('It broke.')),
  })
  return (
    <form onSubmit={submit}>
      <FormFailure message={failure} />
      <button type="submit">Send</button>
    </form>
  )
}
