import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import { type MailText, writeMail } from '../../../platform/mail-text.ts'

interface Values {
  brand: string
  /** When what runs is stopped, or the account was suspended where that is at once. */
  at: string
}

/** The texts of the mail that says that the operator has suspended the account. */
export const SUSPENSION_TEXTS: Record<Language, MailText<Values>> = {
  en: {
    subject: ({ brand }) => `Your ${brand} account is suspended`,
    body: ({ brand, at }) => [
      'Hello,',
      `Your ${brand} account is suspended. Nobody can sign in to it, and its keys open nothing. What runs is stopped at ${at}.`,
      'Nothing is deleted now. Stored data and disks go on costing their fees, and stopped pods are deleted after thirty days as always.',
      'Please answer to whoever runs this service.',
      brand,
    ],
  },
  zh: {
    subject: ({ brand }) => `您的 ${brand} 账户已被暂停`,
    body: ({ brand, at }) => [
      '您好！',
      `您的 ${brand} 账户已被暂停。该账户无法登录，其密钥也无法使用。正在运行的实例将于 ${at} 停止。`,
      '目前不会删除任何数据。存储的数据和磁盘仍继续计费，已停止的容器实例照常在三十天后删除。',
      '请与本服务的运营方联系。',
      brand,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} アカウントが停止されました`,
    body: ({ brand, at }) => [
      'こんにちは。',
      `${brand} アカウントが停止されました。ログインはできず、キーも使えません。実行中のものは ${at} に停止します。`,
      '今は何も削除されません。保存されたデータとディスクの料金は引き続きかかり、停止したポッドは通常どおり 30 日後に削除されます。',
      'このサービスの運営者にご連絡ください。',
      brand,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand} 계정이 정지되었습니다`,
    body: ({ brand, at }) => [
      '안녕하세요.',
      `${brand} 계정이 정지되었습니다. 로그인할 수 없으며 키도 사용할 수 없습니다. 실행 중인 항목은 ${at}에 중지됩니다.`,
      '지금은 아무것도 삭제되지 않습니다. 저장된 데이터와 디스크 요금은 계속 부과되며, 중지된 파드는 평소처럼 30일 후에 삭제됩니다.',
      '이 서비스의 운영자에게 연락해 주세요.',
      brand,
    ],
  },
}

/**
 * The mail that says that the account is suspended.
 * @param to The account's address.
 * @param language The customer's.
 */
export function suspensionMail(to: string, language: Language, values: Values): MailContent {
  return writeMail(to, SUSPENSION_TEXTS[language], values)
}
