/**
 * Business constants and limits (seed 9). A number that stands here stands nowhere else; units come last in
 * the name.
 */

/** How long the console waits by timeout class (R9.1). */
export const CALL_TIMEOUT_MS = {
  fast: 5_000,
  normal: 15_000,
  long: 15_000,
  email: 30_000,
  download: 60_000,
  deploy: 60_000,
  default: 10_000,
} as const

/** Tries after the first where a call may be retried, and the pause before each (R9.1). */
export const RETRY_COUNT = 2
export const RETRY_DELAY_MS = 1_000

/** How long a toast stays (R2.21). */
export const TOAST_MS = 3_000

/** Pause between two balance polls while the tab is visible (R9.2). */
export const BALANCE_POLL_MS = 5_000

/** Wait before the activation mail can be asked for again (R2.16). */
export const ACTIVATION_RESEND_WAIT_MS = 60_000

/** Lazily loaded pages (R2.9). */
export const PAGE_LOAD_RETRIES = 5
export const PAGE_LOAD_RETRY_DELAY_MS = 100

/** Scroll depth from which the back-to-top button shows (R2.17). */
export const BACK_TO_TOP_PX = 100

/** A referral code is cut to this many characters before it is stored (R2.11). */
export const REFERRAL_CODE_CHARS_MAX = 200

/**
 * What referring earns (R9.7), where the catalogue says nothing else; amounts are cents of the wallet that they go to. For the
 * referrer and for the friend at the friend's first top-ups; percent of what the friend spends in cash; what is settled from
 * on; percent of what is paid as money; how long after a quarter's end it is chosen; and how long a PayPal account stays as it is
 * before it is paid to.
 */
export const REFERRAL_DEFAULTS = {
  reward: 500,
  friendReward: 500,
  firstTopup: 1_000,
  rebateRate: 5,
  threshold: 2_000,
  cashFeeRate: 20,
  choiceDays: 30,
  paypalFrozenHours: 72,
} as const
/** The mark that a browser keeps of itself, by which two accounts of one device are told: letters and digits. */
export const DEVICE_MARK_PATTERN = /^[A-Za-z0-9_-]{16,64}$/
/** What invited users are searched for by, and the token of a link that confirms a PayPal account. */
export const REFERRAL_SEARCH_CHARS_MAX = 100
export const PAYPAL_TOKEN_CHARS_MAX = 100

/** Lifetime of the console's cookies (R9.8). */
export const COOKIE_MAX_AGE_S = 365 * 24 * 3_600

/** The interface languages; the first is the default (R1.9, R9.8). */
export const LANGUAGES = ['en', 'zh', 'ja', 'ko'] as const
export type Language = (typeof LANGUAGES)[number]

/** Wallet currencies (R9.3); the first is the default. */
export const CURRENCIES = ['USD', 'EUR'] as const
export type Currency = (typeof CURRENCIES)[number]

/** Instance names (R5.4): the seed's 63 is also the length of a DNS label, which the hostname is made from. */
export const INSTANCE_NAME_CHARS_MAX = 63
export const INSTANCE_NAME_PATTERN = /^[A-Za-z0-9_-]+$/

/** GPUs in one instance: a host of the catalogue holds eight. */
export const GPU_COUNT_MAX = 8

/** HTTP ports and TCP ports of one instance, each (R5.5, R9.8). */
export const PORTS_MAX = 10
export const PORT_MAX = 65_535

/** Container disk, GB: the part that costs nothing (R9.5), and the most that one instance may have. */
export const SYSTEM_DISK_FREE_GB = 20
export const CONTAINER_DISK_GB_MIN = 5
export const CONTAINER_DISK_GB_MAX = 2_000

/**
 * A disk that an instance has beside that, GB: the volume of a pod, the data disk of a virtual machine. And where they
 * stand unless a pod's customer says otherwise.
 */
export const OWN_DISK_GB_MIN = 1
export const OWN_DISK_GB_MAX = 2_000
export const POD_VOLUME_PATH = '/workspace'
export const DATA_DISK_PATH = '/data'

/**
 * Network volumes: sizes in GB, how many one customer may have, how much they may have in all, and how long a path in an
 * instance may be.
 */
export const VOLUME_GB_MIN = 1
export const VOLUME_GB_MAX = 4_096
export const VOLUMES_PER_USER_MAX = 20
export const VOLUMES_GB_PER_USER_MAX = 20_000
export const VOLUME_PATH_CHARS_MAX = 256
/** A volume that nothing is left to pay for is deleted after so many days, announced by mail at once and on these days before (B4). */
export const UNPAID_VOLUME_KEPT_DAYS = 14
export const UNPAID_VOLUME_NOTICE_DAYS = [7, 3, 1] as const
/** From this much of its size on a volume is nearly full, which is said once, until it falls below the other one. */
export const VOLUME_NEAR_FULL_PERCENT = 90
export const VOLUME_NOT_NEAR_PERCENT = 85
/** How long a volume that nothing holds to its size may be over it before instances that start have it read-only. */
export const VOLUME_OVER_SIZE_HOURS = 24
/** Snapshots of one volume: taken by hand, and the last of those by schedule. */
export const SNAPSHOTS_BY_HAND_MAX = 10
export const SNAPSHOTS_KEPT_MAX = 30

/** Environment variables and start command of an instance (R5.5 gives the 500). */
export const ENV_VARIABLES_MAX = 50
export const ENV_NAME_CHARS_MAX = 128
export const ENV_VALUE_CHARS_MAX = 4_000
export const START_COMMAND_CHARS_MAX = 500

/** An image by its reference: a host, a name of 255 characters, a tag of 128 and a digest fit. */
export const IMAGE_REFERENCE_CHARS_MAX = 512

/**
 * A customer's image (R5.5): its name and description, each of what is in it, what is preloaded and how it starts, its README
 * in Markdown, how many scenes it may be found under, and how many images one customer may have.
 */
export const IMAGE_NAME_CHARS_MIN = 2
export const IMAGE_NAME_CHARS_MAX = 100
export const IMAGE_DESCRIPTION_CHARS_MAX = 1_000
export const IMAGE_TEXT_CHARS_MAX = 500
export const IMAGE_README_CHARS_MAX = 20_000
export const IMAGE_TAGS_MAX = 5
export const IMAGES_PER_USER_MAX = 50
/** The file that an image's cover is made of (R5.6): its bytes, its pixels in all, and its shorter side. */
export const COVER_BYTES_MAX = 5_000_000
export const COVER_PIXELS_MAX = 24_000_000
export const COVER_SIDE_PX_MIN = 96
/** Pictures that one customer may send for covers within a minute. */
export const COVERS_PER_MINUTE_MAX = 10
/** More than any GPU has. */
export const IMAGE_VRAM_GB_MAX = 1_024
/** The largest image that is kept, in GB: what a container's disk may hold is more than anybody would wait for. */
export const IMAGE_GB_MAX = 200
/** What a report of an image says at most, and how many of one account wait to be looked at. */
export const IMAGE_REPORT_CHARS_MAX = 1_000
export const IMAGE_REPORTS_MAX = 20
/** An answer to who publishes an image comes within so many working days. */
export const IMAGE_REVIEW_WORKING_DAYS = 3
/** An image that nothing is left to pay for is deleted after so many days, announced as volumes are (B4). */
export const UNPAID_IMAGE_KEPT_DAYS = 14
export const UNPAID_IMAGE_NOTICE_DAYS = [7, 3, 1] as const
/** A public IP that nothing is left to pay for goes back after so many days, announced as volumes are (B4): others wait for it. */
export const UNPAID_PUBLIC_IP_KEPT_DAYS = 7
export const UNPAID_PUBLIC_IP_NOTICE_DAYS = [3, 1] as const

/** What is shown of a start command's log. Encoded as JSON it fits a frame between gateways. */
export const LOG_LINES_MAX = 500
export const LOG_BYTES_MAX = 30_000

/** A line of a log that is followed, in characters; of a longer one the beginning is shown. */
export const LOG_LINE_CHARS_MAX = 2_000
/** With how many of its last lines the following of a log begins. */
export const LOG_FOLLOWED_LINES_MAX = 2_000
/** How long the address of a log that is to be saved may be opened. */
export const LOG_TICKET_MS = 60_000
/** What is searched for in a log, in characters. */
export const LOG_SEARCH_CHARS_MAX = 200
/** Of all lines that have it the last so many are shown, each with so many lines around it, cut to so many characters. */
export const LOG_MATCHES_MAX = 200
export const LOG_CONTEXT_LINES = 2
export const LOG_MATCH_CHARS_MAX = 500
/** Of what is written in one moment, the last so many lines and characters are shown. */
export const LOG_EVENT_LINES_MAX = 1_000
export const LOG_EVENT_CHARS_MAX = 128_000

/** Passwords: the least is the seed's (R5.2); the most bounds the hashing work that a stranger can ask for. */
export const PASSWORD_CHARS_MIN = 8
export const PASSWORD_CHARS_MAX = 128

/** Display names and e-mail addresses; 254 is the longest address that SMTP carries. */
export const USERNAME_CHARS_MAX = 64
export const EMAIL_CHARS_MAX = 254

/** One top-up, in cents: the least keeps card fees sane, the most is what a card scheme takes without asking. */
export const TOPUP_CENTS_MIN = 100
export const TOPUP_CENTS_MAX = 1_000_000

/** A coupon's code: short enough to be typed, long enough not to be guessed. */
export const COUPON_CODE_CHARS_MIN = 4
export const COUPON_CODE_CHARS_MAX = 40

/** Top-ups of one customer that are not decided yet: what a person follows, and what is asked about at platforms. */
export const OPEN_TOPUPS_PER_USER_MAX = 10
/** Machines by name in what uses a balance; the others are one row. */
export const OUTLOOK_MACHINES_MAX = 5
/** Instances that stopped for an empty balance, as one answer lists them. */
export const RESUME_LISTED_MAX = 100

/** Methods that one customer may keep to pay with: more than a person has cards. */
export const PAYMENT_METHODS_PER_USER_MAX = 10
/** Cards that may be refused to one account within a day: whoever tries stolen ones has thousands. */
export const REFUSED_CARDS_PER_DAY_MAX = 10
/** Auto top-up, in cents: the highest threshold is what one charge brings at most, the highest cap ten of those. */
export const AUTO_TOPUP_THRESHOLD_CENTS_MAX = 1_000_000
export const AUTO_TOPUP_CAP_CENTS_MAX = 10_000_000
/** What its form begins with. */
export const AUTO_TOPUP_DEFAULTS = { threshold: 1_000, amount: 5_000, monthlyCap: 20_000 } as const
/** Declines in a row after which it turns itself off, and its pauses after the first and after more. */
export const AUTO_TOPUP_DECLINES_MAX = 3
export const AUTO_TOPUP_PAUSE_HOURS = [1, 24] as const

/** Idempotency keys, and how long an answer is kept for its key. */
export const IDEMPOTENCY_KEY_CHARS_MIN = 8
export const IDEMPOTENCY_KEY_CHARS_MAX = 200
export const IDEMPOTENCY_KEPT_HOURS = 24

/** A page of any list. */
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100

/** Live instances of one customer, where the operator sets no other number: bounds what one account can take from a region. */
export const INSTANCES_PER_USER_DEFAULT = 20
/** The highest number that may be set: so many are shown, searched and acted on without a pause. */
export const INSTANCES_PER_USER_MOST = 10_000

/** A page of instances read by cursor: the longest is some 700 KB, which a gateway makes and a browser reads at once. */
export const INSTANCE_PAGE_SIZE_DEFAULT = 100
export const INSTANCE_PAGE_SIZE_MAX = 500
/** Instances that are asked for by their ids: their address stays far below what servers read. */
export const INSTANCE_IDS_MAX = 100
/** What is searched for in names, ids and images. */
export const INSTANCE_SEARCH_CHARS_MAX = 100
/** Where a page begins, sealed and in base64. */
export const CURSOR_CHARS_MAX = 400

/**
 * Request bodies. The largest legal one fits, with each character escaped to six bytes, as some clients do: names and
 * addresses by default; a pasted key or what a service hands over; a deploy with 50 variables of 4,000 characters; a README.
 */
export const BODY_BYTES_MAX = 16_000
export const LONG_TEXT_BODY_BYTES_MAX = 80_000
export const DEPLOY_BODY_BYTES_MAX = 1_500_000
/** An image's details with the longest README. */
export const IMAGE_BODY_BYTES_MAX = 350_000

/** What models are asked: a long question with its tools. Pictures are taken up to `MODEL_IMAGE_BYTES_MAX` beside it. */
export const MODEL_BODY_BYTES_MAX = 4_194_304
/** A picture that a model is given (R5.10). */
export const MODEL_IMAGE_BYTES_MAX = 40_000_000
/** In so few bytes may be so many pixels that whoever decodes them has no memory left. */
export const MODEL_PICTURE_PIXELS_MAX = 80_000_000
/** The largest of them in base64, and a question beside it. */
export const MODEL_MEDIA_BODY_BYTES_MAX = 56_000_000

/** A price in micro-units: ten digits of currency beside its six decimals. */
export const PRICE_MICRO_CHARS_MAX = 16

/** What one instance may cost before it is stopped by itself, and how far ahead it may be told to stop (B5). */
export const SPEND_LIMIT_CENTS_MAX = 100_000_000
export const STOP_AT_DAYS_MAX = 366
/** As ISO 8601 writes it, with parts of a second. */
export const STOP_AT_CHARS_MAX = 40

/**
 * How long nobody may have used an instance before it is stopped by itself (B5): no terminal, no connection, and of each
 * GPU and of all its processors less than this is busy. The least is what nobody takes for a pause at the keyboard.
 */
export const IDLE_STOP_MINUTES_MIN = 5
export const IDLE_STOP_MINUTES_MAX = 7 * 24 * 60
export const IDLE_BUSY_PERCENT_MAX = 5

/** What an instance used: the stretch that is asked for, and in how many steps it is answered. */
export const METRICS_RANGE_SECONDS_MIN = 60
export const METRICS_RANGE_SECONDS_DEFAULT = 3_600
export const METRICS_RANGE_SECONDS_MAX = 30 * 86_400
export const METRICS_STEPS_MAX = 600

/** Stopped pods are deleted after this many days, announced by mail on these days before (R9.6); those days from the farthest. */
export const STOPPED_POD_KEPT_DAYS = 30
export const STOPPED_POD_NOTICE_DAYS = [7, 3, 1] as const

/** Terminal: geometry, shells of one instance, and the lifetime of the ticket that opens a socket. */
export const TERMINAL_COLS_MAX = 500
export const TERMINAL_ROWS_MAX = 300
/** As many tabs as have their names in sight; the machine's side has room for twice as many. */
export const TERMINAL_SESSIONS_MAX = 8
export const TERMINAL_TICKET_MS = 30_000

/** A file inside a machine, from the root down: as long as a kernel of Linux takes. */
export const FILE_PATH_CHARS_MAX = 4_095
/** Files that an upload is planned for at a time. */
export const UPLOAD_PLAN_FILES_MAX = 50
/** What is uploaded in one request, which must have come within a minute. */
export const FILE_PIECE_BYTES_MAX = 64 * 1024 * 1024
/** How long the address of a download may be opened. */
export const DOWNLOAD_TICKET_MS = 30_000

/** So long after signing in, or confirming it, a session may also do what outlasts it, such as making an API key. */
export const RECENT_SIGN_IN_MINUTES = 15
export const RECENT_SIGN_IN_MS = RECENT_SIGN_IN_MINUTES * 60_000
/** A mailed code that confirms a sign-in: with five tries each, and ten mails a day, nobody guesses one. */
export const SIGN_IN_CODE_DIGITS = 8
/** As long as it takes a mail to come and to be read. */
export const SIGN_IN_CODE_LIFE_MS = 15 * 60_000

/** Names of SSH keys, registry credentials and API keys. */
export const KEY_NAME_CHARS_MAX = 64

/** Offers that one customer may watch at a time, and for how long: more than a region has sold out, and a season. */
export const OFFER_WATCHES_PER_USER_MAX = 10
export const OFFER_WATCH_DAYS_MAX = 90

/** Budgets of one customer, and the most of one: as of an instance's spend limit. */
export const BUDGETS_PER_USER_MAX = 20
export const BUDGET_CENTS_MAX = 100_000_000

/** SSH keys of one customer, and the longest line: an RSA key of 16,384 bits with a comment fits. */
export const SSH_KEYS_PER_USER_MAX = 50
export const SSH_PUBLIC_KEY_CHARS_MAX = 8_000

/** RSA keys below this many bits are refused. */
export const SSH_RSA_BITS_MIN = 2_048

/** Templates of one customer, each as large as a deploy may be, and their names. */
export const TEMPLATES_PER_USER_MAX = 50
export const TEMPLATE_NAME_CHARS_MAX = 64

/** Registry credentials of one customer, and their parts; a cloud registry's password is a token of some 3,000. */
export const REGISTRY_CREDENTIALS_PER_USER_MAX = 50
export const REGISTRY_HOST_CHARS_MAX = 255
export const REGISTRY_USERNAME_CHARS_MAX = 255
export const REGISTRY_PASSWORD_CHARS_MAX = 8_000

/** The longest name of a time zone is half as long. */
export const TIME_ZONE_CHARS_MAX = 64

/** Model API keys of one customer that can be used, and the longest life that may be asked for. */
export const API_KEYS_PER_USER_MAX = 50
export const API_KEY_LIFE_DAYS_MAX = 3_650
/** Models that one key may be bound to, and how long the id of one may be. */
export const API_KEY_MODELS_MAX = 50
export const MODEL_ID_CHARS_MAX = 200
/** Calls that one key may make in a minute. */
export const API_KEY_CALLS_PER_MINUTE_MAX = 3_000
/** Tokens that the calls of one account may use in a minute: what is asked and what is answered. */
export const ACCOUNT_TOKENS_PER_MINUTE_MAX = 10_000_000

/** Pictures of one run, and how long a film may be at the most; each model says which lengths it makes. */
export const CREATION_PICTURES_MAX = 8
export const CREATION_SECONDS_MAX = 60
/** What models read of a prompt is shorter. */
export const CREATION_PROMPT_CHARS_MAX = 4_000
export const CREATION_SEARCH_CHARS_MAX = 100
/** What every server takes as a seed. */
export const CREATION_SEED_MAX = 2_147_483_647
/** Two prompts of the most characters, each escaped to six bytes, and the settings beside them. */
export const CREATION_BODY_BYTES_MAX = 56_000
/** How long pictures and films are kept, and a picture that was sent for others to be made after and was not used. */
export const CREATION_KEPT_DAYS = 30
export const CREATION_PICTURE_WAITS_HOURS = 24
/** What one customer keeps: bytes of all files, and runs. */
export const CREATION_STORED_BYTES_MAX = 2_000_000_000
export const CREATION_RUNS_MAX = 2_000
/** What one customer has under way: pictures, and films. */
export const CREATION_OPEN_IMAGES_MAX = 16
export const CREATION_OPEN_VIDEOS_MAX = 4
/** What is kept of what a model has made: a minute of film at a high rate is half as much. */
export const CREATION_VIDEO_BYTES_MAX = 200_000_000
export const CREATION_IMAGE_BYTES_MAX = 40_000_000
/** Pictures that one customer may send in a minute. */
export const CREATION_PICTURES_PER_MINUTE_MAX = 20
/** Pictures and films that one customer may begin in a minute, those that are made again too: what is stopped costs nothing. */
export const CREATION_IMAGES_BEGUN_PER_MINUTE_MAX = 80
export const CREATION_VIDEOS_BEGUN_PER_MINUTE_MAX = 10
/** Of those that a server had begun, so many may be stopped in an hour: until it is over, no more are begun. */
export const CREATION_IMAGES_STOPPED_PER_HOUR_MAX = 80
export const CREATION_VIDEOS_STOPPED_PER_HOUR_MAX = 8

/** Days that what models are asked and answer may be kept. */
export const MODEL_KEPT_DAYS_MAX = 90

/** S3 keys of one network volume that can be used. */
export const S3_KEYS_PER_VOLUME_MAX = 20

/** Hours that a balance lasts at which an alert may be asked for, and those that a new account gets (B4). */
export const ALERT_HOURS_CHOICES = [72, 24, 12, 6, 3, 1] as const
export const ALERT_HOURS_DEFAULT = [24, 3] as const

/** How long the audit log of an account is kept. */
export const AUDIT_KEPT_DAYS = 365
