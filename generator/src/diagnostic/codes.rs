//! All codes, each with the rule behind it.

macro_rules! codes {
    ($($name:ident = $code:literal, $rule:literal;)*) => {
        /// A stable code and its rule. `KG0xx` is about the spec, `KG1xx` and above about the CRD that it asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $rule] $name,)*
        }

        impl Code {
            /// All of them, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// Such as `KG008`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $code,)* }
            }

            /// The rule in one sentence.
            #[must_use]
            pub fn rule(self) -> &'static str {
                match self { $(Code::$name => $rule,)* }
            }
        }
    };
}

codes! {
    InvalidYaml = "KG001", "The file is YAML 1.2.";
    NotOneDocument = "KG002", "The file holds exactly one document, a mapping.";
    AnchorOrTag = "KG003", "Anchors, aliases, merge keys and tags are not read.";
    DuplicateKey = "KG004", "A key stands once in its mapping.";
    CutByYaml = "KG005", "Text in which YAML sees structure of its own is quoted.";
    QuoteIt = "KG006", "Text that YAML readers take for a number, a boolean, a date or null is quoted.";
    WrongType = "KG007", "A value has the type that its key asks for.";
    UnknownKey = "KG008", "Keys are those of the format.";
    NotSupportedYet = "KG009", "Keys of the format that are not built yet are refused.";
    MissingKey = "KG010", "Required keys are there.";
    WrongHeader = "KG011", "The file says `apiVersion: kopf-gen.dev/v1alpha1` and `kind: OperatorSpec`.";
    NotAChoice = "KG012", "A value of a closed set is one of that set.";
    BadDuration = "KG013", "Durations are seconds, or numbers with `ms`, `s`, `m` and `h`.";
    OutOfRange = "KG014", "Numbers are within their range.";
    MisplacedOption = "KG015", "An option stands where it means something.";
    Duplicate = "KG016", "Nothing is listed twice.";
    Empty = "KG017", "What must say something is not empty.";
    TooLarge = "KG018", "A spec stays within what can be read and stored.";
    FieldSyntax = "KG020", "A field is `TYPE | key=value …`.";
    UnknownType = "KG021", "A type is one of the format's or of `types`.";
    UnknownFieldOption = "KG022", "Options of a field are those of the format.";
    MisplacedFieldOption = "KG023", "An option fits the type of its field.";
    FieldOptionValue = "KG024", "The value of an option fits the option.";
    RecursiveType = "KG025", "Types do not contain themselves.";
    NameCollision = "KG026", "Names stay distinct in Rust.";
    RustName = "KG027", "`rust=` gives a legal name.";
    OperatorName = "KG030", "`metadata.name` can name a crate, a Deployment and a label.";
    LabelOrAnnotation = "KG031", "Labels and annotations are such as Kubernetes takes.";
    FunctionName = "KG032", "`fn` is the name of a Rust function.";
    ModuleName = "KG033", "Each kind has a Rust module of its own.";
    HandlerId = "KG034", "An id can be part of an annotation's name.";
    Persistence = "KG035", "Prefix and finalizer are qualified names with room for what is appended.";
    DeployName = "KG036", "Namespace and image are names.";
    PeeringName = "KG037", "The peering object has a DNS name.";
    TwoFamilies = "KG040", "One function serves one family, since their arguments differ.";
    DuplicateId = "KG041", "An id belongs to one function.";
    Contradiction = "KG042", "A function has one signature.";
    UnknownFieldPath = "KG043", "A field path leads through the schema.";
    TimerWithoutClock = "KG044", "A timer has an `interval` or an `idle` time.";
    Result = "KG045", "A result has a place in the status.";
    MarksAllObjects = "KG046", "A delete handler of a built-in kind has a filter.";
    UnknownBuiltin = "KG047", "A resource without `spec` is a kind that Kubernetes serves.";
    NotForBuiltins = "KG048", "Built-in kinds keep the names and schemas they have.";
    Sample = "KG049", "A sample is an object that the API server accepts.";
    Condition = "KG050", "`when` is one condition, or says how several go together.";
    Cel = "KG051", "A CEL condition is an expression over `object` and `oldObject`.";
    Environment = "KG052", "A variable has the name of one.";
    Memo = "KG053", "A memo is the path of a Rust type.";
    Storage = "KG054", "State is kept where objects have room for it.";
    RunsTwice = "KG055", "A function is called once for one change.";
    EndlessDaemon = "KG056", "A daemon holds up a deletion for a limited time.";
    IndexType = "KG057", "Keys and values of an index have Rust types.";
    IndexTypes = "KG058", "All kinds that feed an index agree on its types.";
    ForEachPath = "KG060", "A sub-handler is for an item of a list, an entry of a map, or a single value.";
    EqualKeys = "KG061", "Sub-handlers of one handler have distinct keys.";
    Group = "KG101", "A group is a DNS subdomain with a dot.";
    ResourceName = "KG102", "Names of a kind are DNS labels.";
    ListKind = "KG103", "The list kind differs from the kind.";
    Scope = "KG105", "A kind is `Namespaced` or `Cluster`.";

    ReservedGroup = "KG110", "Groups of Kubernetes itself are reserved.";
    SchemaType = "KG201", "Every schema has a type.";
    SchemaRoot = "KG202", "The root of a schema is an object with named properties.";
    SchemaItems = "KG204", "An array has one schema for its items.";
    PropertiesAndMap = "KG205", "An object has named properties or additional ones, not both.";
    JunctorKeyword = "KG206", "`allOf`, `anyOf`, `oneOf` and `not` hold value checks only.";
    JunctorProperty = "KG207", "Properties in a junctor are declared outside, too.";
    ForbiddenKeyword = "KG208", "Keywords that structural schemas lack are not used.";
    EmbeddedNames = "KG209", "`apiVersion` and `kind` are strings, `metadata` is an object.";
    Pattern = "KG210", "A pattern is a regular expression of the RE2 kind.";
    PreserveFalse = "KG301", "`x-kubernetes-preserve-unknown-fields` is true or absent.";
    IntOrString = "KG302", "Int-or-string stands alone.";
    EmbeddedResource = "KG303", "An embedded resource is an object with fields or an open one.";
    MergeKeyword = "KG304", "List and map types are set on lists and objects, to a known value.";
    SetItems = "KG305", "Items of a set are scalars or atomic.";
    MapKeys = "KG306", "A list of type map has keys, which are scalar fields of its items.";
    MapKeyPresence = "KG307", "Keys of a map list are always there and never null.";

    DefaultValue = "KG402", "A default fits its own schema.";
    DefaultPruned = "KG403", "A default holds only what the schema keeps.";
    Rule = "KG501", "A CEL rule says something, and so does its message.";
    RuleReason = "KG502", "The reason of a CEL rule is one that Kubernetes knows.";
    OldSelf = "KG505", "Transition rules stand where the old value can be found.";
    NameTaken = "KG705", "Kinds of a group share no name.";
    ListWithoutType = "KG707", "A list of objects says how it merges.";
    UnboundedCheck = "KG708", "A checked string has a `maxLength`.";
    RequiredStatus = "KG709", "Status fields are optional.";
    NotCamelCase = "KG710", "Fields are camelCase.";
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn codes_are_distinct_and_sorted() {
        assert!(Code::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
        assert!(Code::ALL.iter().all(|code| code.rule().ends_with('.')));
    }
}
