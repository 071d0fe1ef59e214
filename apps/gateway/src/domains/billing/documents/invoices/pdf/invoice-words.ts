import type { InvoiceKind, InvoiceLine } from '@berth/contract/invoices'
import type { Language } from '@berth/contract/limits'

/** What a document says besides names and figures. */
export interface InvoiceWords {
  titles: Record<InvoiceKind, string>
  lines: Record<InvoiceLine, string>
  number: string
  date: string
  from: string
  to: string
  taxId: string
  customer: string
  month: string
  what: string
  amount: string
  total: string
  corrects: string
  paidOn: string
  paidBy: string
  refundedTo: string
  notes: Record<InvoiceKind, string>
  credits: string
  page: string
}

/** In every language of the console. */
export const INVOICE_WORDS: Record<Language, InvoiceWords> = {
  en: {
    titles: { topup: 'Invoice', usage: 'Invoice', refund: 'Credit note', refund_failed: 'Invoice' },
    lines: {
      topup: 'Balance top-up',
      refund: 'Refund of a balance top-up',
      refund_failed: 'Refund that did not arrive, returned to the balance',
      instance: 'Instances',
      network_volume: 'Network volumes',
      volume_snapshot: 'Volume snapshots',
      public_ip: 'Public IP addresses',
      image: 'Stored images',
      other: 'Other usage',
    },
    number: 'Number',
    date: 'Date',
    from: 'From',
    to: 'To',
    taxId: 'Tax ID',
    customer: 'Customer',
    month: 'Month of usage (UTC)',
    what: 'Description',
    amount: 'Amount',
    total: 'Total',
    corrects: 'Corrects',
    paidOn: 'Date of payment',
    paidBy: 'Paid with',
    refundedTo: 'Refunded to',
    notes: {
      topup: 'Paid in full.',
      usage: 'Paid from the balance. Nothing is due.',
      refund: 'The amount was given back.',
      refund_failed: 'The amount is part of the balance again. Nothing is due.',
    },
    credits: 'Paid with credits',
    page: 'All times are UTC.',
  },
  zh: {
    // Not 发票, which is the tax office's own document, and ours is none; the English word says what it is to a bookkeeper.
    titles: {
      topup: '账单 / Invoice',
      usage: '账单 / Invoice',
      refund: '贷项通知单 / Credit note',
      refund_failed: '账单 / Invoice',
    },
    lines: {
      topup: '余额充值',
      refund: '余额充值退款',
      refund_failed: '退款未到账，已退回余额',
      instance: '实例',
      network_volume: '网络存储卷',
      volume_snapshot: '存储卷快照',
      public_ip: '公网 IP 地址',
      image: '镜像存储',
      other: '其他用量',
    },
    number: '编号',
    date: '日期',
    from: '开具方',
    to: '接收方',
    taxId: '税号',
    customer: '客户',
    month: '用量月份（UTC）',
    what: '说明',
    amount: '金额',
    total: '合计',
    corrects: '更正的单据',
    paidOn: '付款日期',
    paidBy: '付款方式',
    refundedTo: '退款至',
    notes: {
      topup: '已全额付清。',
      usage: '已从余额支付，无需另行付款。',
      refund: '金额已退还。',
      refund_failed: '金额已重新计入余额，无需另行付款。',
    },
    credits: '使用赠金支付',
    page: '所有时间均为 UTC。',
  },
  ja: {
    titles: { topup: '請求書', usage: '請求書', refund: 'クレジットノート', refund_failed: '請求書' },
    lines: {
      topup: '残高のチャージ',
      refund: '残高チャージの返金',
      refund_failed: '届かなかった返金（残高に戻しました）',
      instance: 'インスタンス',
      network_volume: 'ネットワークボリューム',
      volume_snapshot: 'ボリュームのスナップショット',
      public_ip: 'パブリック IP アドレス',
      image: 'イメージの保管',
      other: 'その他の利用',
    },
    number: '番号',
    date: '日付',
    from: '発行元',
    to: '宛先',
    taxId: '税務番号',
    customer: 'お客様',
    month: '利用月（UTC）',
    what: '内容',
    amount: '金額',
    total: '合計',
    corrects: '訂正する書類',
    paidOn: 'お支払い日',
    paidBy: 'お支払い方法',
    refundedTo: '返金先',
    notes: {
      topup: '全額お支払い済みです。',
      usage: '残高からお支払い済みです。追加のお支払いはありません。',
      refund: '金額は返金されました。',
      refund_failed: '金額は残高に戻りました。追加のお支払いはありません。',
    },
    credits: 'クレジットでのお支払い',
    page: '時刻はすべて UTC です。',
  },
  ko: {
    titles: { topup: '인보이스', usage: '인보이스', refund: '대변표', refund_failed: '인보이스' },
    lines: {
      topup: '잔액 충전',
      refund: '잔액 충전 환불',
      refund_failed: '도착하지 않은 환불(잔액으로 복원)',
      instance: '인스턴스',
      network_volume: '네트워크 볼륨',
      volume_snapshot: '볼륨 스냅샷',
      public_ip: '공인 IP 주소',
      image: '이미지 보관',
      other: '기타 사용량',
    },
    number: '번호',
    date: '날짜',
    from: '발행자',
    to: '수신자',
    taxId: '세금 번호',
    customer: '고객',
    month: '사용 월(UTC)',
    what: '내용',
    amount: '금액',
    total: '합계',
    corrects: '정정 대상',
    paidOn: '결제일',
    paidBy: '결제 수단',
    refundedTo: '환불 수단',
    notes: {
      topup: '전액 결제되었습니다.',
      usage: '잔액에서 결제되었습니다. 추가로 결제할 금액은 없습니다.',
      refund: '금액이 환불되었습니다.',
      refund_failed: '금액이 잔액으로 돌아왔습니다. 추가로 결제할 금액은 없습니다.',
    },
    credits: '크레딧으로 결제',
    page: '모든 시각은 UTC입니다.',
  },
}
