import { accountCalls } from './account.ts'
import { accountSecurityCalls } from './account-security.ts'
import { accountSignInCalls } from './account-sign-in.ts'
import { apiKeyCalls } from './api-keys.ts'
import { autoTopupCalls } from './auto-topup.ts'
import { billingCalls } from './billing.ts'
import { billCalls } from './bills.ts'
import { budgetCalls } from './budgets.ts'
import { checkInCalls } from './check-in.ts'
import { connectionDoctorCalls } from './connection-doctor.ts'
import { creationCalls } from './creations.ts'
import { creditCalls } from './credits.ts'
import { deployTemplateCalls } from './deploy-templates.ts'
import { fileCalls } from './files.ts'
import { imageCalls } from './images.ts'
import { instanceFollowCalls } from './instance-follow.ts'
import { instanceMetricsCalls } from './instance-metrics.ts'
import { instancePageCalls } from './instance-page.ts'
import { instancePagingCalls } from './instance-paging.ts'
import { instanceTermCalls } from './instance-terms.ts'
import { instanceCalls } from './instances.ts'
import { invitationCalls } from './invitation.ts'
import { invoiceCalls } from './invoices.ts'
import { modelFigureCalls } from './model-figures.ts'
import { modelKeepingCalls } from './model-keeping.ts'
import { modelCalls } from './models.ts'
import { notificationCalls } from './notifications.ts'
import { offerWatchCalls } from './offer-watches.ts'
import { outlookCalls } from './outlook.ts'
import { ownImageCalls } from './own-images.ts'
import { paymentMethodCalls } from './payment-methods.ts'
import { publicIpCalls } from './public-ip-calls.ts'
import { referralCalls } from './referral.ts'
import { regionCalls } from './regions.ts'
import { registryCalls } from './registries.ts'
import { resumeCalls } from './resume.ts'
import { sessionLogCalls } from './session-log.ts'
import { sshKeyCalls } from './ssh-keys.ts'
import { volumeAttachCalls } from './volume-attach-calls.ts'
import { volumeS3Calls } from './volume-s3.ts'
import { volumeSnapshotCalls } from './volume-snapshots.ts'
import { volumeCalls } from './volumes.ts'

/** Every call of the gateway, in the order of the published document (R7.9). */
export const calls = [
  ...accountCalls,
  ...accountSignInCalls,
  ...accountSecurityCalls,
  ...notificationCalls,
  ...sshKeyCalls,
  ...registryCalls,
  ...apiKeyCalls,
  ...modelCalls,
  ...modelFigureCalls,
  ...sessionLogCalls,
  ...creationCalls,
  ...modelKeepingCalls,
  ...checkInCalls,
  ...regionCalls,
  ...offerWatchCalls,
  ...imageCalls,
  ...ownImageCalls,
  ...instanceCalls,
  ...instancePagingCalls,
  ...instanceFollowCalls,
  ...deployTemplateCalls,
  ...instanceMetricsCalls,
  ...instancePageCalls,
  ...fileCalls,
  ...connectionDoctorCalls,
  ...instanceTermCalls,
  ...resumeCalls,
  ...volumeCalls,
  ...volumeAttachCalls,
  ...volumeS3Calls,
  ...volumeSnapshotCalls,
  ...publicIpCalls,
  ...billingCalls,
  ...outlookCalls,
  ...budgetCalls,
  ...billCalls,
  ...invoiceCalls,
  ...creditCalls,
  ...paymentMethodCalls,
  ...autoTopupCalls,
  ...referralCalls,
  ...invitationCalls,
] as const
