import type errors from '../../../../packages/contract/locales/en/errors.json'
import type auth from '../../public/locales/en/auth.json'
import type bills from '../../public/locales/en/bills.json'
import type budgets from '../../public/locales/en/budgets.json'
import type bulk from '../../public/locales/en/bulk.json'
import type chat from '../../public/locales/en/chat.json'
import type checkIn from '../../public/locales/en/check-in.json'
import type common from '../../public/locales/en/common.json'
import type coupons from '../../public/locales/en/coupons.json'
import type deploy from '../../public/locales/en/deploy.json'
import type docs from '../../public/locales/en/docs.json'
import type doctor from '../../public/locales/en/doctor.json'
import type events from '../../public/locales/en/events.json'
import type explore from '../../public/locales/en/explore.json'
import type files from '../../public/locales/en/files.json'
import type imageForm from '../../public/locales/en/image-form.json'
import type images from '../../public/locales/en/images.json'
import type instance from '../../public/locales/en/instance.json'
import type instances from '../../public/locales/en/instances.json'
import type invoices from '../../public/locales/en/invoices.json'
import type keys from '../../public/locales/en/keys.json'
import type making from '../../public/locales/en/making.json'
import type methods from '../../public/locales/en/methods.json'
import type models from '../../public/locales/en/models.json'
import type offers from '../../public/locales/en/offers.json'
import type payments from '../../public/locales/en/payments.json'
import type publicIp from '../../public/locales/en/public-ip.json'
import type refer from '../../public/locales/en/refer.json'
import type resume from '../../public/locales/en/resume.json'
import type sessionLogs from '../../public/locales/en/session-logs.json'
import type settings from '../../public/locales/en/settings.json'
import type termsOfPayment from '../../public/locales/en/terms-of-payment.json'
import type transactions from '../../public/locales/en/transactions.json'
import type volumes from '../../public/locales/en/volumes.json'
import type watches from '../../public/locales/en/watches.json'

// A key that no file has does not compile.
declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common'
    resources: {
      common: typeof common
      auth: typeof auth
      bills: typeof bills
      budgets: typeof budgets
      bulk: typeof bulk
      chat: typeof chat
      'check-in': typeof checkIn
      coupons: typeof coupons
      deploy: typeof deploy
      docs: typeof docs
      doctor: typeof doctor
      events: typeof events
      explore: typeof explore
      files: typeof files
      'image-form': typeof imageForm
      images: typeof images
      instance: typeof instance
      instances: typeof instances
      invoices: typeof invoices
      making: typeof making
      methods: typeof methods
      models: typeof models
      keys: typeof keys
      offers: typeof offers
      payments: typeof payments
      'public-ip': typeof publicIp
      refer: typeof refer
      resume: typeof resume
      'session-logs': typeof sessionLogs
      settings: typeof settings
      'terms-of-payment': typeof termsOfPayment
      transactions: typeof transactions
      volumes: typeof volumes
      watches: typeof watches
      errors: typeof errors
    }
  }
}
